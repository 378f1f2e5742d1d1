#include "core/rewrite/spec.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/uop/facts.h"
#include "core/uop/node_map.h"
#include "core/uop/text.h"
#include "core/uop/walk.h"

namespace kiln::rewrite {
namespace {

template <typename... Parts>
absl::Status Illegal(Ref n, const Spec& spec, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("node ", n->id, ", ", uop::Excerpt(n),
                                                 ", is not legal at ", std::string(spec.level),
                                                 " level: ", parts...));
}

std::string CountText(int least, int most) {
  if (least == most) return absl::StrCat(least);
  if (most == uop::kMaxSources) return absl::StrCat("at least ", least);
  return absl::StrCat(least, " to ", most);
}

// What every function of core/uop relies on, at any level.
absl::Status CheckWellFormed(Ref n, const Spec& spec) {
  const uop::OpInfo& info = uop::Info(n->op);
  const int most = uop::MaxSources(n->op);
  if (n->num_src < info.min_src || n->num_src > most) {
    return Illegal(n, spec, std::string(info.name), " takes ", CountText(info.min_src, most),
                   " sources, not ", n->num_src);
  }
  if (uop::IsEffect(n->op) != (n->dtype == DType::kVoid)) {
    return Illegal(n, spec, std::string(info.name),
                   uop::IsEffect(n->op) ? " has dtype void, not " : " has a value, not dtype ",
                   std::string(dtype::Name(n->dtype)));
  }
  if (!uop::IsValidArg(n->op, n->dtype, n->arg))
    return Illegal(n, spec, "its arg is not one of ", std::string(info.name));
  return absl::OkStatus();
}

std::string LegalForms(Op op, const Spec& spec) {
  std::string out;
  for (const FormTable* table : spec.tables) {
    if (table == nullptr) break;
    for (const FormInfo& form : table->forms) {
      if (form.roots.Has(op)) absl::StrAppend(&out, out.empty() ? "" : "; or ", form.text);
    }
  }
  return out;
}

std::string LegalOps(const Spec& spec) {
  std::string out;
  for (int i = 0; i < uop::kNumOps; ++i) {
    const Op op = static_cast<Op>(i);
    if (!LegalForms(op, spec).empty())
      absl::StrAppend(&out, out.empty() ? "" : ", ", std::string(uop::Name(op)));
  }
  return out;
}

absl::Status CheckForm(Scope& scope, Ref n, const Spec& spec) {
  for (const FormTable* table : spec.tables) {
    if (table == nullptr) break;
    for (const FormInfo& form : table->forms) {
      if (form.roots.Has(n->op) && form.matches(scope, n)) return absl::OkStatus();
    }
  }
  const std::string forms = LegalForms(n->op, spec);
  if (!forms.empty()) return Illegal(n, spec, "it must be ", forms);
  return Illegal(n, spec, std::string(uop::Name(n->op)), " is none of its ops, which are ",
                 LegalOps(spec));
}

// Whether shapes go together. What is above a CALL has none before its function is expanded.
class Shapes {
 public:
  Shapes(Graph& g, const Spec& spec) : g_(g), spec_(spec) {}
  absl::Status Check(Ref n) {
    if (uop::IsEffect(n->op)) return absl::OkStatus();
    bool unknown = n->op == Op::kCall;
    for (Ref s : n->src()) unknown = unknown || unknown_.Get(s);
    if (unknown) {
      unknown_[n] = true;
      return absl::OkStatus();
    }
    const auto shape = uop::ShapeOf(g_, n);
    return shape.ok() ? absl::OkStatus() : Illegal(n, spec_, shape.status().message());
  }

 private:
  Graph& g_;
  const Spec& spec_;
  uop::NodeMap<bool> unknown_;
};

}  // namespace

absl::Status Verify(Graph& g, Ref root, const Spec& spec) {
  const std::vector<Ref> nodes = uop::Toposort(root);
  Scope scope{.graph = g, .context = {}};
  Shapes shapes(g, spec);
  for (Ref n : nodes) {
    absl::Status status = CheckWellFormed(n, spec);
    if (status.ok()) status = CheckForm(scope, n, spec);
    if (status.ok()) status = shapes.Check(n);
    if (!status.ok()) return status;
  }
  return spec.whole == nullptr ? absl::OkStatus() : spec.whole(g, nodes);
}

}  // namespace kiln::rewrite
