// What a pattern has bound, and what a rule may see and touch.
#pragma once

#include <type_traits>
#include <utility>

#include "absl/status/status.h"

#include "core/dtype/check.h"
#include "core/uop/facts.h"
#include "core/uop/graph.h"

namespace kiln::rewrite {

// Slots of the alphabet: 'a'..'z', then c0..c9. Release builds don't initialise them: a pattern's
// type says which it binds.
inline constexpr int kNumSlots = 36;
struct BoundNodes {
#ifdef NDEBUG
  Ref slot[kNumSlots];
#else
  Ref slot[kNumSlots] = {};
#endif
};

struct RuleInfo;

// An object that the rules of one run may use, of a type that is checked. Borrowed during the run.
class Context {
 public:
  Context() = default;
  template <typename T>
    requires(!std::is_base_of_v<Context, T>)
  explicit Context(T& object) : object_(&object), type_(&kTypeTag<T>) {}
  // Pre: made from a T.
  template <typename T>
  T& As() const {
    KILN_CHECK(type_ == &kTypeTag<T>);
    return *static_cast<T*>(object_);
  }
  bool empty() const { return object_ == nullptr; }

 private:
  template <typename T>
  static constexpr char kTypeTag = 0;
  void* object_ = nullptr;
  const void* type_ = nullptr;
};

// Confined to one run of the driver. What rules share during it.
struct Scope {
  Graph& graph;
  Context context;
  const RuleInfo* fired = nullptr;  // The last rule that fired.
  bool can_stop = false;            // Users first.
  bool stop = false;                // The last replacement is kept as it is.
  absl::Status error;               // Set by Match::Fail.
};

// The view of a match that a function on the right side of a rule gets. Borrowed during the call.
class Match {
 public:
  Match(Scope& scope, Ref root, const BoundNodes& bound)
      : scope_(scope), root_(root), bound_(bound) {}
  // The node that was matched.
  Ref root() const { return root_; }
  // What a letter was bound to: m[x], m[c0]. Pre: the left side binds it, and not only inside
  // `every`.
  template <typename V>
  Ref operator[](V) const {
    KILN_DCHECK(bound_.slot[V::kSlot] != nullptr);
    return bound_.slot[V::kSlot];
  }
  // The object that the run was given. Pre: it was given a T.
  template <typename T>
  T& context() const {
    return scope_.context.As<T>();
  }
  // For kUsersFirst: keeps `n`, which may be root(), in this place, without visiting it or what is
  // below it. In the other orders it is `n` and no more.
  Ref Stop(Ref n) const {
    scope_.stop = scope_.can_stop && n != nullptr;
    return n;
  }
  // Ends the run with this error. Returns null, so that a rule can `return m.Fail(...)`.
  Ref Fail(absl::Status status) const {
    if (scope_.error.ok()) scope_.error = std::move(status);
    return nullptr;
  }

 private:
  Scope& scope_;
  Ref root_;
  const BoundNodes& bound_;
};

// Where the rule tests get operands from: a rule can write an instance of its own left side.
class InstanceSource {
 public:
  virtual ~InstanceSource() = default;
  // Some expression of dtype `d`.
  virtual Ref Leaf(Graph& g, DType d) = 0;
  // Some constant of dtype `d`.
  virtual Ref Constant(Graph& g, DType d) = 0;
  // Some dtype that a letter of this kind accepts; `Domain` of the table applies.
  virtual DType PickDType(bool (*accepts)(DType)) = 0;
  // Some number, 0 <= result < n.
  virtual int Pick(int n) = 0;
};

}  // namespace kiln::rewrite
