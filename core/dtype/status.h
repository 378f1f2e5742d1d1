// Passing errors on, with what was being done added on the way.
//
//   KILN_RETURN_IF_ERROR(Lower(g, kernel)) << "while lowering " << name;
//   KILN_ASSIGN_OR_RETURN(Ref root, Simplify(g, n), _ << "while simplifying node " << n->id);
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/dtype/int128.h"

namespace kiln {

// Thread-compatible. An error on its way up: what is streamed into it is appended to the message
// after a colon. Code and payloads stay. Converts to absl::Status and absl::StatusOr<T>, so it can
// be returned where either is. Takes strings, numbers and whatever else absl::StrCat takes.
class StatusBuilder {
 public:
  // Pre: !status.ok().
  explicit StatusBuilder(absl::Status status) : status_(std::move(status)) {}

  template <typename T>
  StatusBuilder& operator<<(const T& part) {
    // Debian's absl::string_view is not std::string_view, and absl::StrCat takes only the former.
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      context_.append(std::string_view(part));
    } else if constexpr (std::is_same_v<T, Int128>) {
      context_.append(ToString(part));
    } else {
      absl::StrAppend(&context_, part);
    }
    return *this;
  }

  // Returned from a function, not kept: `this` is left without its status.
  operator absl::Status() { return Build(); }  // NOLINT(google-explicit-constructor)
  template <typename T>
  operator absl::StatusOr<T>() {  // NOLINT(google-explicit-constructor)
    return Build();
  }

 private:
  absl::Status Build() {
    if (context_.empty()) return std::move(status_);
    absl::Status result(status_.code(), absl::StrCat(status_.message(), ": ", context_));
    status_.ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
      result.SetPayload(url, payload);
    });
    return result;
  }

  absl::Status status_;
  std::string context_;
};

namespace internal {
inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}
}  // namespace internal
}  // namespace kiln

// Returns the error of a Status or StatusOr expression from the enclosing function, which returns
// either; does nothing if there is none. Context may be streamed into it.
#define KILN_RETURN_IF_ERROR(expr)                                      \
  switch (0) /* So that an `else` after it belongs to an outer `if`. */ \
  case 0:                                                               \
  default:                                                              \
    if (auto kiln_result = (expr); ABSL_PREDICT_TRUE(kiln_result.ok())) \
      ;                                                                 \
    else                                                                \
      return ::kiln::StatusBuilder(::kiln::internal::StatusOf(kiln_result))

// KILN_ASSIGN_OR_RETURN(lhs, expr) declares or assigns `lhs` from the value of a StatusOr
// expression, or returns its error. KILN_ASSIGN_OR_RETURN(lhs, expr, error) returns `error`, which
// is written in terms of `_`, the StatusBuilder of the error. Several statements, so not the body
// of an `if` without braces. `lhs` has no commas outside of parentheses (use auto).
#define KILN_ASSIGN_OR_RETURN(...)                                                          \
  KILN_INTERNAL_FOURTH(__VA_ARGS__, KILN_INTERNAL_ASSIGN_OR_ERROR, KILN_INTERNAL_ASSIGN, ~) \
  (KILN_INTERNAL_CONCAT(kiln_result_, __LINE__), __VA_ARGS__)

#define KILN_INTERNAL_FOURTH(a, b, c, fourth, ...) fourth
#define KILN_INTERNAL_CONCAT_(a, b) a##b
#define KILN_INTERNAL_CONCAT(a, b) KILN_INTERNAL_CONCAT_(a, b)
#define KILN_INTERNAL_ASSIGN(result, lhs, expr) KILN_INTERNAL_ASSIGN_OR_ERROR(result, lhs, expr, _)
#define KILN_INTERNAL_ASSIGN_OR_ERROR(result, lhs, expr, error) \
  auto result = (expr);                                         \
  if (ABSL_PREDICT_FALSE(!result.ok())) {                       \
    ::kiln::StatusBuilder _(std::move(result).status());        \
    return error;                                               \
  }                                                             \
  lhs = *std::move(result)
