// What is legal at one level of the IR, as a table of allowed forms in the language of rules.
//
//   constexpr auto kMemory = forms(
//       allow(op<Op::kLoad>(op<Op::kIndex>(rest)), KeepsDType, "load(place): the element there"),
//       allow(op<Op::kRange>(i), "range(end): a counter of dtype index"));
//   constexpr FormTable kMemoryForms = MakeForms<kMemory>();
//   constexpr Spec kKernelSpec = {.level = "kernel", .tables = {&kMemoryForms}};
//   KILN_RETURN_IF_ERROR(Verify(g, root, kKernelSpec));
//
// A node is legal if one of the forms of its op matches. The specs of Kiln's levels are in specs.h.
#pragma once

#include <array>
#include <optional>
#include <source_location>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/rewrite/alphabet.h"
#include "core/uop/node_map.h"

namespace kiln::rewrite {

// Thread-compatible. Shapes of the nodes that Verify has been through, as far as they are known: what is above a CALL has none before
// its function is expanded. The context of checks: m.context<VerifiedShapes>().Of(m[x]).
class VerifiedShapes {
 public:
  explicit VerifiedShapes(Graph& g) : g_(g) {}
  // Pre: added, and not an effect.
  std::optional<absl::Span<const Ref>> Of(Ref n) const;
  // InvalidArgument if the shapes of its sources don't go together. Pre: its sources were added.
  absl::Status Add(Ref n);

 private:
  Graph& g_;
  uop::NodeMap<bool> unknown_;
};

// What a pattern can't say about a match; named for what holds if it returns true.
using CheckFn = bool (*)(Graph&, const Match&);

// What messages know of a form. Immutable; lives as long as the process.
struct FormInfo {
  std::source_location where;
  const char* text;  // The form and what it demands, for messages.
  OpSet roots;
  bool (*matches)(Scope&, Ref);
};
// Immutable.
struct FormTable {
  absl::Span<const FormInfo> forms;
};

// Immutable; borrows its tables.
struct Spec {
  static constexpr size_t kMaxTables = 4;
  std::string_view level;  // In messages: "kernel".
  std::array<const FormTable*, kMaxTables> tables{};
  // What must hold of the graph as a whole; null if nothing more. Given all nodes, sources first, each of a legal form.
  absl::Status (*whole)(Graph& g, absl::Span<const Ref> nodes) = nullptr;
};

// OK if every node below `root`, and `root`, has as many sources as its op takes, an arg of its kind, sources whose
// shapes go together, and one of the forms that `spec` allows. Else InvalidArgument that shows the first node (sources
// come before users) which has not, and the forms that its op may have at this level. Linear; no recursion.
absl::Status Verify(Graph& g, Ref root, const Spec& spec);

template <typename L, typename W = Always>
struct Form {
  L left;
  W condition;
  CheckFn check;
  const char* text;
  std::source_location where;
  static_assert(L::kIsOp, "a form is of an operation, not a bare letter");

  // Restricts the form: a condition over bound constants and bounds.
  template <ConditionOperand C>
  constexpr auto when(C c) const {
    return Form<L, decltype(AsCondition(c))>{left, AsCondition(c), check, text, where};
  }
  bool Matches(Scope& scope, Ref n) const {
    BoundNodes b;
    return left.template Try<0>(n, b, [&]<uint64_t B>() {
      return condition.Holds(scope.graph, b) &&
             (check == nullptr || check(scope.graph, Match(scope, n, b)));
    });
  }
};

template <Pattern L>
constexpr auto allow(L left, CheckFn check, const char* text,
                     std::source_location where = std::source_location::current()) {
  static_assert(L::kCanonical, "constants go on the right of a commutative operation");
  return Form<L>{left, {}, check, text, where};
}
template <Pattern L>
constexpr auto allow(L left, const char* text,
                     std::source_location where = std::source_location::current()) {
  return allow(left, nullptr, text, where);
}

template <typename... Fs>
constexpr auto forms(Fs... fs) {
  return std::tuple<Fs...>(fs...);
}

namespace internal {

template <const auto& kForms>
struct FormsCode {
  static constexpr size_t kSize = std::tuple_size_v<std::remove_cvref_t<decltype(kForms)>>;
  template <size_t I>
  static bool Matches(Scope& scope, Ref n) {
    return std::get<I>(kForms).Matches(scope, n);
  }
  template <size_t I>
  static constexpr FormInfo Info() {
    constexpr const auto& kForm = std::get<I>(kForms);
    return {kForm.where, kForm.text, std::remove_cvref_t<decltype(kForm.left)>::kOps, &Matches<I>};
  }
  static constexpr std::array<FormInfo, kSize> kInfo = []<size_t... I>(std::index_sequence<I...>) {
    return std::array<FormInfo, kSize>{Info<I>()...};
  }(std::make_index_sequence<kSize>{});
};

}  // namespace internal

// Compiles a list of forms: `kForms` is a constexpr object at namespace scope.
template <const auto& kForms>
constexpr FormTable MakeForms() {
  return {internal::FormsCode<kForms>::kInfo};
}

}  // namespace kiln::rewrite
