// The value of every ALU op, cast and bitcast on every dtype, and division by constants: tests
// core/dtype.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/alu.h"
#include "core/dtype/cast.h"
#include "core/dtype/magic.h"
#include "tests/replay/sets.h"
#include "tests/replay/value.h"
#include "tests/replay/wire_values.h"

namespace kiln::replay {
namespace {

using dtype::AluOp;

template <typename T>
std::string NameOf(T named) {
  return std::string(dtype::Name(named));
}

Result Malformed(const absl::Status& status) {
  return Fail(absl::StrCat("malformed record: ", std::string(status.message())));
}

absl::StatusOr<AluOp> ParseOp(const Json& json) {
  const std::optional<AluOp> op = dtype::ParseAluOp(json.get_ref<const std::string&>());
  if (!op.has_value()) return absl::InvalidArgumentError(absl::StrCat("unknown op ", json.dump()));
  return *op;
}

// ** operands and results **

// Operands, all values of `dtype` (a condition: of bool).
struct Operands {
  std::vector<Scalar> values;
  DType dtype;
};

absl::StatusOr<Operands> ParseValues(AluOp op, const Json& in, DType dtype) {
  Operands operands{{}, dtype};
  for (size_t i = 0; i < in.size(); ++i) {
    const bool condition = op == AluOp::kWhere && i == 0;
    const absl::StatusOr<Scalar> value = ParseScalar(in[i], condition ? DType::kBool : dtype);
    if (!value.ok()) return value.status();
    operands.values.push_back(*value);
  }
  return operands;
}

// Operands of `dtype`, or, if one of them is not a value of it (300 as int8, 0.4 as float32), of
// the type that holds them exactly. What comes out of that is then cast.
absl::StatusOr<Operands> ParseOperands(AluOp op, const Json& in, DType dtype) {
  if (!in.is_array() || in.size() != static_cast<size_t>(dtype::NumOperands(op))) {
    return absl::InvalidArgumentError(absl::StrCat("not operands of ", NameOf(op)));
  }
  const absl::StatusOr<Operands> own = ParseValues(op, in, dtype);
  if (own.ok() || op == AluOp::kBitcast) return own;
  const absl::StatusOr<Operands> exact =
      ParseValues(op, in, dtype::IsFloat(dtype) ? DType::kFloat64 : DType::kIndex);
  return exact.ok() ? exact : own;
}

std::optional<Scalar> Evaluate(AluOp op, const Operands& in, DType out) {
  if (op == AluOp::kCast) return dtype::Cast(in.values[0], in.dtype, out);
  if (op == AluOp::kBitcast) return dtype::Bitcast(in.values[0], in.dtype, out);
  const std::optional<Scalar> result = dtype::EvalAlu(op, in.dtype, in.values);
  if (!result.has_value() || dtype::IsComparison(op)) return result;
  return dtype::Cast(*result, in.dtype, out);
}

// ** kinds alu, cast, bitcast **

struct Evaluation {
  AluOp op;
  DType src;  // Of the operands, but for a condition.
  DType out;
  uint64_t ulp;
  std::string why;  // Empty unless disputed.
};

absl::StatusOr<Evaluation> ParseEvaluation(const Record& record) {
  const Json& json = record.json;
  Evaluation e{};
  e.op = record.kind == "cast" ? AluOp::kCast : AluOp::kBitcast;
  if (record.kind == "alu") {
    const absl::StatusOr<AluOp> op = ParseOp(json.at("op"));
    if (!op.ok()) return op.status();
    e.op = *op;
  }
  const absl::StatusOr<DType> out = ParseScalarDType(json.at("out"));
  if (!out.ok()) return out.status();
  e.out = *out;
  e.ulp = json.value("ulp", uint64_t{0});
  if (json.value("disputed", false)) e.why = json.value("why", std::string("unsaid"));

  std::vector<DType> src;
  for (const Json& name : json.at("src")) {
    const absl::StatusOr<DType> dtype = ParseScalarDType(name);
    if (!dtype.ok()) return dtype.status();
    src.push_back(*dtype);
  }
  if (src.size() != static_cast<size_t>(dtype::NumOperands(e.op))) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(e.op), " does not take ", src.size(), " operands"));
  }
  e.src = src.back();
  if (e.op == AluOp::kWhere && src[0] == DType::kBool) src[0] = e.src;
  const bool same = std::all_of(src.begin(), src.end(), [&](DType d) { return d == e.src; });
  if (!same || e.src == DType::kVoid || e.out == DType::kVoid) {
    return absl::InvalidArgumentError("operands of different dtypes, or void");
  }
  const DType result = dtype::IsComparison(e.op) ? DType::kBool : e.src;
  if (record.kind == "alu" && e.out != result) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(e.op), " gives ", NameOf(result), ", not ", NameOf(e.out)));
  }
  return e;
}

// The values that are right for a case.
struct Accepted {
  std::vector<Scalar> values;
  bool nothing = false;   // A refusal is right, too.
  bool anything = false;  // The fixtures call it undefined, and WIRE.md is silent.
};

absl::StatusOr<Accepted> ParseAccepted(const Evaluation& e, const Json& test_case,
                                       const Operands& in) {
  Accepted accepted;
  if (!e.why.empty()) {
    // An index value is a mathematical integer, for which x / 0 has no value: the folder refuses.
    accepted.nothing = e.why == "div_by_zero" && e.out == DType::kIndex;
    accepted.values = WireValues(e.why, e.op, in.dtype, e.out, in.values);
    if (!accepted.values.empty()) return accepted;
  }
  // Disputed casts: the reference rounds twice, the alternative once, as WIRE.md has it.
  const size_t first = e.why == "rounding" ? 2 : 1;
  const size_t last = e.why.empty() ? 1 : 2;
  for (size_t i = first; i <= std::min(last, test_case.size() - 1); ++i) {
    const Json& want = test_case[i];
    if (want == "undefined") accepted.anything = true;
    if (want.is_object() || want == "undefined") continue;  // An object: the reference raises.
    const absl::StatusOr<Scalar> value = ParseScalar(want, e.out);
    if (!value.ok()) return value.status();
    accepted.values.push_back(*value);
  }
  if (accepted.values.empty() && !accepted.anything) {
    return absl::InvalidArgumentError("a case without an expected value");
  }
  return accepted;
}

// On index the expected value may exceed int64. Then EvalAlu has to say so, and EvalWide has to
// give it.
Result CheckBeyondInt64(AluOp op, const Operands& in, Int128 want) {
  if (Evaluate(op, in, DType::kIndex).has_value()) return Fail("no overflow reported");
  std::vector<Int128> wide;
  for (const Scalar value : in.values) wide.push_back(value.AsInt());
  const std::optional<Int128> got = dtype::EvalWide(op, wide);
  if (got == want) return Pass();
  return Fail(absl::StrCat("got ", got.has_value() ? ToString(*got) : "nothing"));
}

Result CheckCase(const Evaluation& e, const Json& test_case) {
  const absl::StatusOr<Operands> in = ParseOperands(e.op, test_case.at(0), e.src);
  if (!in.ok()) return Malformed(in.status());
  const Json& reference = test_case.at(1);
  if (e.src == DType::kIndex && e.out == DType::kIndex) {
    const absl::StatusOr<Int128> want = ParseWide(reference);
    if (want.ok() && !FitsInt64(*want)) return CheckBeyondInt64(e.op, *in, *want);
  }
  const absl::StatusOr<Accepted> accepted = ParseAccepted(e, test_case, *in);
  if (!accepted.ok()) return Malformed(accepted.status());
  const std::optional<Scalar> got = Evaluate(e.op, *in, e.out);
  if (accepted->anything) return Pass();
  if (!got.has_value()) return accepted->nothing ? Pass() : Fail("got nothing");
  const bool matches = std::any_of(accepted->values.begin(), accepted->values.end(),
                                   [&](Scalar v) { return Matches(*got, v, e.out, e.ulp); });
  if (matches) return Pass();
  const auto append = [&](std::string* text, Scalar v) { text->append(ToText(v, e.out)); };
  return Fail(absl::StrCat("got ", ToText(*got, e.out), ", want ",
                           absl::StrJoin(accepted->values, " or ", append)));
}

// ** kind exec_alu **

// The dtype of the operands of a call. The record has that of the result, which says nothing of
// what is compared.
DType OperandDType(AluOp op, DType result, const Json& in) {
  if (!dtype::IsComparison(op)) return result;
  const auto is = [&](auto predicate) { return std::any_of(in.begin(), in.end(), predicate); };
  if (is([](const Json& v) { return v.is_number_float() || v.is_string(); })) {
    return DType::kFloat64;
  }
  return is([](const Json& v) { return v.is_number(); }) ? DType::kIndex : DType::kBool;
}

Result CheckCall(const Json& call) {
  const absl::StatusOr<AluOp> op = ParseOp(call.at("op"));
  if (!op.ok()) return Malformed(op.status());
  const absl::StatusOr<DType> dtype = ParseScalarDType(call.at("dtype"));
  if (!dtype.ok()) return Malformed(dtype.status());
  if (*op == AluOp::kCast || *op == AluOp::kBitcast || *dtype == DType::kVoid) {
    return Fail("malformed record: not a call");
  }
  const bool wrap = call.value("truncate", true);
  const DType exact = dtype::IsFloat(*dtype) ? DType::kFloat64 : DType::kIndex;
  const DType operand_dtype = OperandDType(*op, wrap ? *dtype : exact, call.at("in"));
  const absl::StatusOr<Operands> in = ParseOperands(*op, call.at("in"), operand_dtype);
  if (!in.ok()) return Malformed(in.status());
  const DType out = dtype::IsComparison(*op) ? DType::kBool : operand_dtype;
  const absl::StatusOr<Scalar> want = ParseScalar(call.at("out"), out);
  if (!want.ok()) return Malformed(want.status());
  const std::optional<Scalar> got = Evaluate(*op, *in, out);
  if (!got.has_value()) return Fail("got nothing");
  return Matches(*got, *want, out) ? Pass() : Fail(absl::StrCat("got ", ToText(*got, out)));
}

// ** kind magic **

Result CheckMagic(const Json& test_case) {
  const Json& question = test_case.at(0);
  const Json& answer = test_case.at(1);
  const absl::StatusOr<Int128> vmax = ParseWide(question.at(0)), d = ParseWide(question.at(1)),
                               m = ParseWide(answer.at(0)), s = ParseWide(answer.at(1));
  for (const auto* v : {&vmax, &d, &m, &s}) {
    if (!v->ok()) return Malformed(v->status());
  }
  const std::optional<dtype::Magic> got = dtype::FindMagic(*vmax, *d);
  if (!got.has_value()) return Fail("got nothing");
  if (got->m == *m && got->s == *s) return Pass();
  return Fail(absl::StrCat("got ", ToString(got->m), " and ", got->s));
}

// Runs `check` on each element. Fails with the first that fails, and the number of those that do.
template <typename Check>
Result CheckAll(const Json& list, Check check) {
  if (!list.is_array() || list.empty()) return Fail("malformed record: no cases");
  std::string first;
  int failed = 0;
  for (const Json& element : list) {
    const Result result = check(element);
    if (result.outcome == Result::Outcome::kPass) continue;
    if (failed++ == 0) first = absl::StrCat(element.dump(), ": ", result.text);
  }
  if (failed == 0) return Pass();
  return Fail(absl::StrCat(failed, " of ", list.size(), " cases, first ", first));
}

class AluSet final : public FixtureSet {
 public:
  std::string_view name() const override { return "alu"; }
  std::vector<std::string> files() const override { return {"alu"}; }

  Result Run(const Record& record) override {
    const Json& json = record.json;
    if (record.kind == "exec_alu") return CheckAll(json.at("calls"), CheckCall);
    if (record.kind == "magic") return CheckAll(json.at("cases"), CheckMagic);
    if (record.kind != "alu" && record.kind != "cast" && record.kind != "bitcast") {
      return Fail(absl::StrCat("unknown kind \"", record.kind, "\""));
    }
    const absl::StatusOr<Evaluation> e = ParseEvaluation(record);
    if (!e.ok()) return Malformed(e.status());
    return CheckAll(json.at("cases"), [&](const Json& c) { return CheckCase(*e, c); });
  }
};

}  // namespace

std::unique_ptr<FixtureSet> MakeAluSet() { return std::make_unique<AluSet>(); }

}  // namespace kiln::replay
