#include "core/rewrite/spec.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/uop/facts.h"
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
  if (!uop::IsValidArg(n->op, n->dtype, n->arg)) {
    // Its text would read the arg.
    return absl::InvalidArgumentError(
        absl::StrCat("node ", n->id, " is not legal at ", std::string(spec.level),
                     " level: its arg is none of ", std::string(info.name)));
  }
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

}  // namespace

std::optional<absl::Span<const Ref>> VerifiedShapes::Of(Ref n) const {
  if (unknown_.Get(n)) return std::nullopt;
  return *uop::ShapeOf(g_, n);
}

absl::Status VerifiedShapes::Add(Ref n) {
  if (uop::IsEffect(n->op)) return absl::OkStatus();
  bool unknown = n->op == Op::kCall;
  for (Ref s : n->src()) unknown = unknown || unknown_.Get(s);
  if (unknown) {
    unknown_[n] = true;
    return absl::OkStatus();
  }
  return uop::ShapeOf(g_, n).status();
}

absl::Status Verify(Graph& g, Ref root, const Spec& spec) {
  const std::vector<Ref> nodes = uop::Toposort(root);
  VerifiedShapes shapes(g);
  Scope scope{.graph = g, .context = Context(shapes)};
  for (Ref n : nodes) {
    absl::Status status = CheckWellFormed(n, spec);
    if (status.ok()) status = CheckForm(scope, n, spec);
    if (!status.ok()) return status;
    status = shapes.Add(n);
    if (!status.ok()) return Illegal(n, spec, status.message());
  }
  return spec.whole == nullptr ? absl::OkStatus() : spec.whole(g, nodes);
}

}  // namespace kiln::rewrite
