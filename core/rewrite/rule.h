// Rules and tables of rules.
//
//   constexpr auto kCollect = rules(
//       rule((x + c0) + c1, x + (c0 + c1)),
//       rule(x + x, x * 2));
//   constexpr RuleTable kCollectRules = MakeTable<kCollect, Domain::kInteger>("collect");
#pragma once

#include <array>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/types/span.h"

#include "core/rewrite/alphabet.h"

namespace kiln::rewrite {

// Where the rules of a table are exact. Rules of a domain are offered only nodes whose operands
// (the root's first source if the root is a comparison, else the root) have such a dtype.
enum class Domain : uint8_t {
  kAny,      // Every dtype, bit for bit but for NaN payloads.
  kInteger,  // Fixed-width integers, with wraparound, and index.
  kIndex,    // Dtype index only: no wraparound.
  kBool,
  kDefinedInteger,  // Integers, where nothing is divided by zero: fast math too.
  kFastMath,  // Floats, up to rounding, NaN, infinities and the sign of zero: only when the session
              // asks for it.
};
constexpr bool InDomain(Domain domain, DType d) {
  switch (domain) {
    case Domain::kAny:
      return true;
    case Domain::kInteger:
      return dtype::IsInteger(d);
    case Domain::kIndex:
      return d == DType::kIndex;
    case Domain::kBool:
      return d == DType::kBool;
    case Domain::kDefinedInteger:
      return dtype::IsInteger(d);
    case Domain::kFastMath:
      return dtype::IsFloat(d);
  }
  return false;
}
constexpr DType OperandDType(Ref n) {
  return uop::IsComparison(n->op) ? n->src(0)->dtype : n->dtype;
}

using TryFn = Ref (*)(Scope&, Ref);
using BuildFn = Ref (*)(Graph&, const Match&);

// What tests, traces and documentation know of a rule. Immutable; lives as long as the process.
struct RuleInfo {
  std::source_location where;
  std::string (*text)();  // (i % c0) -> i when ((vmin(i) >= 0) && (vmax(i) < c0))
  const char* grows;      // Why the right side may not be smaller than the left; null if it is.
  PatternSize left, right;
  bool is_function;  // A function builds the right side: `right` means nothing.
  OpSet roots;
  TryFn try_alone;  // The rule without its table.
  // A node of this dtype that the left side matches, up to the condition and to what makes sense:
  // sources of a shape or dtype that the op does not take are for the caller to refuse. Null if the
  // dtype does not fit, or the pattern is open-ended.
  Ref (*instance)(Graph&, InstanceSource&, DType);
};

template <typename L, typename R, typename W = Always>
struct Rule {
  L left;
  R right;
  W condition;
  std::source_location where;
  const char* grows_reason = nullptr;

  static_assert(L::kIsOp, "a rule must match an operation, not a bare letter");
  static constexpr bool kIsFunction = std::convertible_to<R, BuildFn>;
  static constexpr bool kHasCondition = !std::same_as<W, Always>;

  // Restricts the rule: a condition over bound constants and bounds.
  template <ConditionOperand C>
  constexpr auto when(C c) const {
    static_assert(
        (L::kBinds & decltype(AsCondition(c))::kBinds) == decltype(AsCondition(c))::kBinds,
        "the condition uses a letter that the left side does not bind");
    return Rule<L, R, decltype(AsCondition(c))>{left, right, AsCondition(c), where, grows_reason};
  }
  // Says why the right side is not smaller than the left.
  constexpr Rule grows(const char* reason) const {
    Rule r = *this;
    r.grows_reason = reason;
    return r;
  }

  // Whether the search for a rule ends with this one: it fires, and `out` is the replacement; or its
  // function failed, and `out` is null. Algebra keeps the dtype, or does not fire. The condition and
  // the right side are inside the match, so that their "no" makes it try the next operand order. `n`
  // itself is a "no" as well, unless it is to be kept.
  KILN_ALWAYS_INLINE bool Try(Scope& scope, Ref n, Ref& out) const {
    BoundNodes b;
    return left.template Try<0>(n, b, [&]<uint64_t B>() KILN_LAMBDA_INLINE {
      if (!condition.Holds(scope.graph, b)) return false;
      out = Apply(scope, n, b);
      if (out == n && !scope.stop) out = nullptr;
      return out != nullptr || !scope.error.ok();
    });
  }
  [[gnu::noinline]] Ref Apply(Scope& scope, Ref n, const BoundNodes& b) const {
    if constexpr (kIsFunction) {
      Ref out = right(scope.graph, Match(scope, n, b));
      if (out == nullptr) scope.stop = false;
      return out;
    } else {
      Ref out = right.Build(scope.graph, b, n->dtype);
      return out != nullptr && out->dtype == n->dtype ? out : nullptr;
    }
  }
  static constexpr PatternSize RightSize() {
    if constexpr (kIsFunction)
      return {};
    else
      return R::Size(Side::kRight, 0);
  }
};

template <Pattern L, Operand R>
constexpr auto rule(L left, R right, std::source_location where = std::source_location::current()) {
  static_assert((L::kBinds & Lifted<R>::kBinds) == Lifted<R>::kBinds,
                "the right side uses a letter that the left side does not bind");
  static_assert(L::kCanonical, "constants go on the right of a commutative operation");
  return Rule<L, Lifted<R>>{left, Lift(right), {}, where};
}
template <Pattern L, typename F>
  requires std::convertible_to<F, BuildFn>
constexpr auto rule(L left, F function,
                    std::source_location where = std::source_location::current()) {
  static_assert(L::kCanonical, "constants go on the right of a commutative operation");
  return Rule<L, BuildFn>{left, static_cast<BuildFn>(function), {}, where};
}

template <typename... Rs>
struct RuleList {
  std::tuple<Rs...> rules;
  static constexpr size_t kSize = sizeof...(Rs);
};
template <typename... Rs>
constexpr auto rules(Rs... rs) {
  static_assert(sizeof...(Rs) <= 60, "split the table: compile time grows with it");
  return RuleList<Rs...>{{rs...}};
}

// One function per root op, so that a rule costs nothing on other ops. Immutable.
struct RuleTable {
  std::string_view name;
  Domain domain;
  std::array<TryFn, uop::kNumOps> try_op;
  absl::Span<const RuleInfo> rules;
};

namespace internal {

template <const auto& kList, Domain kDomain>
struct TableCode {
  static constexpr size_t kSize = std::remove_cvref_t<decltype(kList)>::kSize;
  template <size_t I>
  static constexpr const auto& Get() {
    return std::get<I>(kList.rules);
  }
  template <size_t I>
  using Type = std::remove_cvref_t<decltype(Get<I>())>;
  template <size_t I>
  using Left = std::remove_cvref_t<decltype(Get<I>().left)>;

  template <size_t I>
  static Ref TryAlone(Scope& scope, Ref n) {
    if (!Left<I>::kOps.Has(n->op) || !InDomain(kDomain, OperandDType(n))) return nullptr;
    Ref out = nullptr;
    Get<I>().Try(scope, n, out);
    return out;
  }
  template <size_t I>
  static Ref Instance(Graph& g, InstanceSource& source, DType d) {
    BoundNodes b;
    return Get<I>().left.template Instance<0>(g, source, b, d);
  }
  template <size_t I>
  static std::string Text() {
    std::string out;
    Get<I>().left.Print(out);
    out += " -> ";
    if constexpr (Type<I>::kIsFunction) {
      out += "function";
    } else {
      Get<I>().right.Print(out);
    }
    if constexpr (Type<I>::kHasCondition) {
      out += " when ";
      Get<I>().condition.Print(out);
    }
    return out;
  }
  template <size_t I>
  static constexpr RuleInfo Info() {
    return {.where = Get<I>().where,
            .text = &Text<I>,
            .grows = Get<I>().grows_reason,
            .left = Left<I>::Size(Side::kLeft, 0),
            .right = Type<I>::RightSize(),
            .is_function = Type<I>::kIsFunction,
            .roots = Left<I>::kOps,
            .try_alone = &TryAlone<I>,
            .instance = &Instance<I>};
  }
  static constexpr std::array<RuleInfo, kSize> kInfo = []<size_t... I>(std::index_sequence<I...>) {
    return std::array<RuleInfo, kSize>{Info<I>()...};
  }(std::make_index_sequence<kSize>{});

  template <size_t I, Op O>
  KILN_ALWAYS_INLINE static bool One(Scope& scope, Ref n, Ref& out) {
    if constexpr (Left<I>::kOps.Has(O)) {
      if (!Get<I>().Try(scope, n, out)) return false;
      if (out != nullptr) scope.fired = &kInfo[I];
      return true;
    }
    return false;
  }
  template <Op O, size_t... I>
  KILN_ALWAYS_INLINE static Ref First(Scope& scope, Ref n, std::index_sequence<I...>) {
    Ref out = nullptr;
    (void)(One<I, O>(scope, n, out) || ...);
    return out;
  }
  // Pre: n->op is O. The compiler is told, so that the rules need not look.
  template <Op O>
  static Ref Try(Scope& scope, Ref n) {
    if (n->op != O) __builtin_unreachable();
    if (!InDomain(kDomain, OperandDType(n))) return nullptr;
    return First<O>(scope, n, std::make_index_sequence<kSize>{});
  }
  template <Op O>
  static constexpr TryFn ForOp() {
    constexpr bool kAny = []<size_t... I>(std::index_sequence<I...>) {
      return (Left<I>::kOps.Has(O) || ...);
    }(std::make_index_sequence<kSize>{});
    if constexpr (kAny) {
      return &Try<O>;
    } else {
      return nullptr;
    }
  }
};

}  // namespace internal

// Compiles a list of rules: `kList` is a constexpr object at namespace scope.
template <const auto& kList, Domain kDomain>
constexpr RuleTable MakeTable(std::string_view name) {
  using Code = internal::TableCode<kList, kDomain>;
  RuleTable table{name, kDomain, {}, Code::kInfo};
  [&]<size_t... O>(std::index_sequence<O...>) {
    ((table.try_op[O] = Code::template ForOp<static_cast<Op>(O)>()), ...);
  }(std::make_index_sequence<uop::kNumOps>{});
  return table;
}

}  // namespace kiln::rewrite
