#include "tests/fuzz/mutate_message.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

#include "google/protobuf/descriptor.h"

namespace kiln::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Confined to one thread.
class Mutator {
 public:
  Mutator(unsigned seed, absl::Span<const char* const> words) : random_(seed), words_(words) {}

  // One change somewhere in the message.
  void Change(Message& m) {
    for (Message* at = &m; at != nullptr;) at = ChangeOrDescend(*at);
  }
  size_t Below(size_t n) { return random_() % n; }

 private:
  // Makes the change, or returns the message below in which to make it.
  Message* ChangeOrDescend(Message& m) {
    const auto* descriptor = m.GetDescriptor();
    const Reflection& r = *m.GetReflection();
    if (descriptor->field_count() == 0) return nullptr;
    const FieldDescriptor* f =
        descriptor->field(static_cast<int>(Below(static_cast<size_t>(descriptor->field_count()))));
    // Fields that are there are likelier.
    for (int tries = 0; tries < 3 && !IsSet(m, *f); ++tries) {
      f = descriptor->field(
          static_cast<int>(Below(static_cast<size_t>(descriptor->field_count()))));
    }
    if (f->is_repeated()) return ChangeList(m, *f);
    if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (Below(12) != 0) return r.MutableMessage(&m, f);
      r.ClearField(&m, f);
    } else if (Below(10) == 0) {
      r.ClearField(&m, f);
    } else {
      SetScalar(m, *f);
    }
    return nullptr;
  }

  static bool IsSet(const Message& m, const FieldDescriptor& f) {
    const Reflection& r = *m.GetReflection();
    return f.is_repeated() ? r.FieldSize(m, &f) > 0 : r.HasField(m, &f);
  }

  Message* ChangeList(Message& m, const FieldDescriptor& f) {
    const Reflection& r = *m.GetReflection();
    const int size = r.FieldSize(m, &f);
    const bool is_message = f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const size_t what = Below(10);
    if (size == 0 || what == 0) {
      if (!is_message) {
        AddScalar(m, f);
        return nullptr;
      }
      Message* added = r.AddMessage(&m, &f);
      if (size > 0) {
        added->CopyFrom(
            r.GetRepeatedMessage(m, &f, static_cast<int>(Below(static_cast<size_t>(size)))));
      }
      return added;
    }
    const int i = static_cast<int>(Below(static_cast<size_t>(size)));
    if (what == 1) {
      r.SwapElements(&m, &f, i, size - 1);
      r.RemoveLast(&m, &f);
    } else if (what == 2) {
      r.SwapElements(&m, &f, i, static_cast<int>(Below(static_cast<size_t>(size))));
    } else if (is_message) {
      return r.MutableRepeatedMessage(&m, &f, i);
    } else {
      AddScalar(m, f);
      r.SwapElements(&m, &f, i, size);
      r.RemoveLast(&m, &f);
    }
    return nullptr;
  }

  // Small ones, mostly.
  int64_t Number() {
    constexpr int64_t kExtremes[] = {-1,
                                     std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int32_t>::max(),
                                     std::numeric_limits<int32_t>::min(),
                                     int64_t{1} << 31,
                                     int64_t{1} << 32,
                                     int64_t{1} << 42,
                                     1000};
    if (Below(8) != 0) return static_cast<int64_t>(Below(Below(3) == 0 ? 100 : 9));
    return kExtremes[Below(std::size(kExtremes))];
  }
  double Float() {
    constexpr double kSpecial[] = {0.0, -0.0, 1.5, -1e300, 1e-320, HUGE_VAL, -HUGE_VAL};
    return Below(4) == 0 ? static_cast<double>(Number()) : kSpecial[Below(std::size(kSpecial))];
  }
  std::string Text() {
    return Below(16) == 0 ? std::string(Below(600), 'x') : words_[Below(words_.size())];
  }

  void SetScalar(Message& m, const FieldDescriptor& f) {
    const Reflection& r = *m.GetReflection();
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.SetInt32(&m, &f, static_cast<int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.SetInt64(&m, &f, Number());
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.SetUInt32(&m, &f, static_cast<uint32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.SetUInt64(&m, &f, static_cast<uint64_t>(Number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.SetDouble(&m, &f, Float());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.SetFloat(&m, &f, static_cast<float>(Float()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.SetBool(&m, &f, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_STRING:
        return r.SetString(&m, &f, Text());
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.SetEnumValue(&m, &f, EnumValue(f));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return;
    }
  }
  void AddScalar(Message& m, const FieldDescriptor& f) {
    const Reflection& r = *m.GetReflection();
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r.AddInt32(&m, &f, static_cast<int32_t>(Number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return r.AddInt64(&m, &f, Number());
      case FieldDescriptor::CPPTYPE_UINT32:
        return r.AddUInt32(&m, &f, static_cast<uint32_t>(Number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r.AddUInt64(&m, &f, static_cast<uint64_t>(Number()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return r.AddDouble(&m, &f, Float());
      case FieldDescriptor::CPPTYPE_FLOAT:
        return r.AddFloat(&m, &f, static_cast<float>(Float()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return r.AddBool(&m, &f, Below(2) == 0);
      case FieldDescriptor::CPPTYPE_STRING:
        return r.AddString(&m, &f, Text());
      case FieldDescriptor::CPPTYPE_ENUM:
        return r.AddEnumValue(&m, &f, EnumValue(f));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return;
    }
  }
  int EnumValue(const FieldDescriptor& f) {
    if (Below(16) == 0) return static_cast<int>(Number());
    const auto* type = f.enum_type();
    return type->value(static_cast<int>(Below(static_cast<size_t>(type->value_count()))))->number();
  }

  std::mt19937 random_;
  const absl::Span<const char* const> words_;
};

}  // namespace

void MutateMessage(Message& message, unsigned seed, absl::Span<const char* const> words) {
  Mutator mutator(seed, words);
  for (size_t changes = 1 + mutator.Below(4); changes > 0; --changes) mutator.Change(message);
}

size_t MutateSerialized(Message& message, const std::string& start, uint8_t* data, size_t size,
                        size_t max_size, unsigned seed, absl::Span<const char* const> words) {
  if (size < 8 || !message.ParseFromArray(data, static_cast<int>(size))) {
    message.ParseFromString(start);
  } else {
    MutateMessage(message, seed, words);
  }
  const std::string bytes = message.SerializeAsString();
  if (bytes.size() > max_size) return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace kiln::fuzz
