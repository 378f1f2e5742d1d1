// Linked into every executable that is built with ThreadSanitizer. Abseil comes as a shared library
// that is not instrumented, so the order that its locks make would be unknown: each lock and unlock
// would look like a race. These definitions take precedence over the library's (all calls, those
// from within it included), tell ThreadSanitizer, and go on to it.
#include <dlfcn.h>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
const char* __tsan_default_suppressions();
}

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace {

// Around what evaluates conditions of other threads: the lock is held, but released already as far
// as ThreadSanitizer knows.
class IgnoreReads {
 public:
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

}  // namespace

void Mutex::Lock() {
  static const auto real =
      reinterpret_cast<void (*)(Mutex*)>(dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex4LockEv"));
  {
    IgnoreReads ignore;
    real(this);
  }
  __tsan_acquire(this);
}

void Mutex::Unlock() {
  static const auto real =
      reinterpret_cast<void (*)(Mutex*)>(dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex6UnlockEv"));
  __tsan_release(this);
  IgnoreReads ignore;
  real(this);
}

void Mutex::Await(const Condition& condition) {
  static const auto real = reinterpret_cast<void (*)(Mutex*, const Condition&)>(
      dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE"));
  __tsan_release(this);
  {
    IgnoreReads ignore;
    real(this, condition);
  }
  __tsan_acquire(this);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static const auto real = reinterpret_cast<bool (*)(Mutex*, const Condition&, Time)>(
      dlsym(RTLD_NEXT, "_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE"));
  __tsan_release(this);
  bool reached;
  {
    IgnoreReads ignore;
    reached = real(this, condition, deadline);
  }
  __tsan_acquire(this);
  return reached;
}

void CondVar::Wait(Mutex* mutex) {
  static const auto real = reinterpret_cast<void (*)(CondVar*, Mutex*)>(
      dlsym(RTLD_NEXT, "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE"));
  __tsan_release(mutex);
  {
    IgnoreReads ignore;
    real(this, mutex);
  }
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static const auto real = reinterpret_cast<bool (*)(CondVar*, Mutex*, Time)>(
      dlsym(RTLD_NEXT, "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"));
  __tsan_release(mutex);
  bool timed_out;
  {
    IgnoreReads ignore;
    timed_out = real(this, mutex, deadline);
  }
  __tsan_acquire(mutex);
  return timed_out;
}

void Notification::Notify() {
  static const auto real = reinterpret_cast<void (*)(Notification*)>(
      dlsym(RTLD_NEXT, "_ZN4absl7debian312Notification6NotifyEv"));
  __tsan_release(this);
  real(this);
}

void Notification::WaitForNotification() const {
  static const auto real = reinterpret_cast<void (*)(const Notification*)>(
      dlsym(RTLD_NEXT, "_ZNK4absl7debian312Notification19WaitForNotificationEv"));
  real(this);
  __tsan_acquire(const_cast<Notification*>(this));
}

ABSL_NAMESPACE_END
}  // namespace absl

// A status is freed by the library, after the last of its users, which count it down there. What
// frees it may be left by a jump, and look as if Status::Unref called `delete`.
const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_status.so\nrace:^Unref$\n";
}
