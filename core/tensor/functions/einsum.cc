// Sums of products by an equation of letters.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/tensor/functions/arguments.h"
#include "core/tensor/functions/linear.h"
#include "core/tensor/functions/tables.h"

namespace kiln::tensor::functions {
namespace {

using enum DTypeRule;

// A label per axis: a letter, or below 'A' one that an ellipsis stands for, the last one kLast.
using Labels = std::string;
constexpr char kLast = '?';
char Unnamed(int64_t from_end) { return static_cast<char>(kLast - from_end); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

class Parser {
 public:
  Parser(const Arguments& a, const Tensors& xs) : a_(a), xs_(xs) {}

  Equation Parse(std::string text) {
    std::erase(text, ' ');
    const size_t arrow = text.find("->");
    Equation e;
    std::vector<std::string> parts(1);
    for (char c : text.substr(0, arrow)) {
      if (c == ',') {
        parts.emplace_back();
      } else {
        parts.back().push_back(c);
      }
    }
    if (parts.size() != xs_.size()) {
      a_.Fail("equation", "it has ", parts.size(), " operands, there are ", xs_.size(), " inputs");
      return e;
    }
    for (size_t i = 0; i < parts.size() && a_.ok(); ++i) {
      e.operands.push_back(LabelsOf(parts[i], xs_[i].rank(), i));
    }
    if (arrow != std::string::npos) {
      e.result = LabelsOf(text.substr(arrow + 2), -1, 0);
      return e;
    }
    // What an ellipsis stands for, then labels that occur once, in order of the alphabet.
    for (int64_t k = unnamed_; k-- > 0;) e.result.push_back(Unnamed(k));
    std::map<char, int> uses;
    for (const Labels& labels : e.operands) {
      for (char c : labels) ++uses[c];
    }
    for (const auto& [c, count] : uses) {
      if (IsLetter(c) && count == 1) e.result.push_back(c);
    }
    return e;
  }

 private:
  // `rank` of an operand; -1: of the result, whose ellipsis stands for all that there are.
  Labels LabelsOf(const std::string& part, int64_t rank, size_t operand) {
    const size_t dots = part.find("...");
    const bool has_dots = dots != std::string::npos;
    const auto named = static_cast<int64_t>(part.size()) - (has_dots ? 3 : 0);
    int64_t more = rank < 0 ? unnamed_ : rank - named;
    if (rank >= 0 && (has_dots ? more < 0 : more != 0)) {
      a_.Fail("equation", "operand ", operand, " has ", named, " labels, its shape is ",
              ToText(xs_[operand].shape()));
      return {};
    }
    if (!has_dots) more = 0;
    if (rank >= 0) unnamed_ = std::max(unnamed_, more);
    Labels labels;
    for (size_t i = 0; i < part.size(); ++i) {
      if (i == dots) {
        for (int64_t k = more; k-- > 0;) labels.push_back(Unnamed(k));
        i += 2;
      } else if (IsLetter(part[i])) {
        labels.push_back(part[i]);
      } else {
        a_.Fail("equation", "'", std::string(1, part[i]), "' is no label, which is a letter");
        return {};
      }
    }
    return labels;
  }

  const Arguments& a_;
  const Tensors& xs_;
  int64_t unnamed_ = 0;  // Axes that an ellipsis stands for, the most of an operand.
};

// The labels of an operand, each once: of a repeated one, the diagonal is taken.
Tensor WithoutRepeats(Tensor x, std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t again = labels.find(labels[i], i + 1);
    if (again == std::string::npos) continue;
    x = Diagonal(
        MoveAxis(MoveAxis(x, static_cast<int64_t>(again), -1), static_cast<int64_t>(i), -2), 0);
    labels.erase(again, 1);
    labels.push_back(labels[i]);
    labels.erase(i--, 1);
  }
  return x;
}

Tensors Einsum(Arguments& a) {
  const Tensors xs = a.List("xs");
  const auto wrong = [&a](const auto&... why) -> Tensors { return {a.Fail("equation", why...)}; };
  Equation e = Parser(a, xs).Parse(a.Text("equation"));
  if (!a.ok()) return {};
  const auto text = [](char label) { return std::string(1, IsLetter(label) ? label : '.'); };
  std::map<char, Size> sizes;
  for (size_t i = 0; i < xs.size(); ++i) {
    for (size_t k = 0; k < e.operands[i].size(); ++k) {
      const char label = e.operands[i][k];
      const Size n = xs[i].dim(static_cast<int64_t>(k));
      Size& known = sizes.emplace(label, n).first->second;
      if (known == n || n.Is(1)) continue;  // Size 1 broadcasts.
      if (!known.Is(1)) return wrong("label ", text(label), " has different sizes");
      known = n;
    }
  }
  Labels all = e.result;
  for (char label : e.result) {
    if (!sizes.contains(label)) return wrong("label ", text(label), " is in no operand");
    if (std::count(all.begin(), all.end(), label) > 1) {
      return wrong("label ", text(label), " is twice in the result");
    }
  }
  Axes summed;
  for (const auto& [label, size] : sizes) {
    if (e.result.find(label) != Labels::npos) continue;
    summed.push_back(static_cast<int64_t>(all.size()));
    all.push_back(label);
  }
  Tensor product;
  Shape whole;
  for (char label : all) whole.push_back(sizes[label]);
  for (size_t i = 0; i < xs.size(); ++i) {
    Labels& labels = e.operands[i];
    const Tensor x = WithoutRepeats(Widened(xs[i]), labels);
    Axes order;
    Shape shape;
    for (char label : all) {
      const size_t at = labels.find(label);
      if (at != Labels::npos) order.push_back(static_cast<int64_t>(at));
      shape.push_back(at == Labels::npos ? Size(1) : x.dim(static_cast<int64_t>(at)));
    }
    if (!a.ok()) return {};
    const Tensor aligned = Reshape(Permute(x, order), shape);
    product = product ? product * aligned : aligned;
  }
  return {Cast(Sum(BroadcastTo(product, whole), summed), xs[0].dtype())};
}

}  // namespace

// clang-format off
std::vector<FunctionSchema> EinsumFunctions() {
  return {
      {.name = "einsum", .doc = "The sum of products after an equation like \"ij,jk->ik\": a letter per axis, operands separated by commas. What is not in the result is summed over; a label twice in an operand takes its diagonal. \"...\" stands for the other axes of an operand, which broadcast. Without \"->\", the result has those, then the labels that occur once, in the order of the alphabet.",
       .inputs = {Input("xs", kNumber, "the operands").Variadic()},
       .attributes = {Text("equation", "the equation")}, .outputs = {"y"}, .compose = Einsum},
  };
}
// clang-format on

}  // namespace kiln::tensor::functions
