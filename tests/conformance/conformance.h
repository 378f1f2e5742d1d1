// What every backend has to do. A backend's test binary is made of the test files of this folder and
// one that says what is tested:
//
//   const Subject& TheSubject() {
//     static const Subject subject = {.device = "cpu:0", .register_backend = ...};
//     return subject;
//   }
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "gtest/gtest.h"

#include "core/runtime/registry.h"
#include "tests/conformance/program_builder.h"
#include "tests/support/status_matchers.h"

namespace kiln::conformance {

struct Subject {
  std::string device;  // "cpu:0".
  std::function<absl::Status(runtime::Registry&)> register_backend;
  // Tests that don't apply, "Suite.Name" or "Suite.*", each with the reason.
  std::map<std::string, std::string> exceptions = {};
};
// Defined by the backend's test.
const Subject& TheSubject();

using Bytes = std::vector<std::byte>;

// Values as they lie in memory, and back.
Bytes ToBytes(DType d, absl::Span<const Scalar> values);
Scalar ValueAt(const Bytes& bytes, DType d, size_t i);
std::vector<Scalar> ValuesOf(const Bytes& bytes, DType d);
Bytes ToBytes(absl::Span<const float> values);
Bytes ToBytes(absl::Span<const int32_t> values);
std::vector<float> FloatsOf(const Bytes& bytes);
std::vector<int32_t> IntsOf(const Bytes& bytes);

// Skips what the subject excepts.
class ConformanceTest : public ::testing::Test {
 protected:
  void SetUp() override;

  static runtime::Registry& registry();
  runtime::Device& device() { return *device_; }

  absl::StatusOr<std::shared_ptr<const runtime::Executable>> Build(const codegen::Program& program);
  // A buffer with these contents.
  std::unique_ptr<runtime::Buffer> Upload(const Bytes& bytes);
  Bytes Download(runtime::Buffer& buffer);
  // Runs `list`, and waits.
  absl::Status RunList(std::shared_ptr<runtime::CommandList> list);
  // Runs the program on buffers with these contents, and returns what is in them afterwards.
  absl::StatusOr<std::vector<Bytes>> Run(const codegen::Program& program,
                                         const std::vector<Bytes>& buffers,
                                         absl::Span<const int64_t> variables = {});

 private:
  runtime::Device* device_ = nullptr;
};

}  // namespace kiln::conformance
