// The shortest program: a x + y on the server.
//
//   saxpy unix:/run/kilnd.sock
#include <cstdio>

#include "client/cpp/functions.h"

int main(int argc, char** argv) {
  absl::StatusOr<kiln::Session> session = kiln::Session::Connect(argc > 1 ? argv[1] : "");
  if (!session.ok()) return std::fprintf(stderr, "%s\n", session.status().ToString().c_str()), 1;

  const auto x = kiln::Tensor::FromHost<float>(*session, {1, 2, 3, 4}, {4});
  const auto y = kiln::Tensor::FromHost<float>(*session, {10, 20, 30, 40}, {4});
  const kiln::Tensor z = 2.0 * x + y;  // Nothing is computed yet.

  const absl::StatusOr<std::vector<float>> values = z.ToHost<float>();
  if (!values.ok()) return std::fprintf(stderr, "%s\n", values.status().ToString().c_str()), 1;
  for (const float value : *values) std::printf("%g ", value);  // 12 24 36 48
  std::printf("\n");
}
