// Proves that each command is applied once and none is lost, whatever the connection does: a proxy
// cuts it at random bytes while a client makes steps of which every one changes the state.
//
//   wire-cuts [--cuts=100] [--seed=1]
//
// Large copies, which go beside the control stream, are cut as well.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"

#include "client/cpp/session.h"
#include "tests/wire/support/graphs.h"
#include "tests/wire/support/kilnd_process.h"
#include "tests/wire/support/proxy.h"

ABSL_FLAG(int64_t, cuts, 100, "How often the connection is cut.");
ABSL_FLAG(uint64_t, seed, 1, "Of the places where it is cut.");

namespace kiln::wire {
namespace {

constexpr size_t kBulkBytes = size_t{3} << 20;

template <typename T>
absl::Span<const std::byte> BytesOf(const std::vector<T>& v) {
  return absl::MakeSpan(reinterpret_cast<const std::byte*>(v.data()), v.size() * sizeof(T));
}
template <typename T>
absl::Span<std::byte> MutableBytesOf(std::vector<T>& v) {
  return absl::MakeSpan(reinterpret_cast<std::byte*>(v.data()), v.size() * sizeof(T));
}

// A client whose state is known.
class Stepper {
 public:
  Stepper(Session session, uint64_t seed) : session_(std::move(session)), random_(seed) {
    uint32_t output;
    const EncodedGraph graph(StepGraph(4, &output));
    compiled_ = session_.Compile(graph, {output});
    state_ = session_.Alloc(32);
    step_ = session_.Alloc(32);
    first_ = session_.Alloc(8);
    bulk_ = session_.Alloc(kBulkBytes);
    session_.CopyIn(state_, 0, BytesOf(expected_));
  }

  // Some steps, the state read now and then without waiting for it.
  absl::Status Steps(int n) {
    std::vector<std::vector<uint64_t>> wanted, got;
    std::vector<Future<void>> reads;
    got.reserve(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) {
      std::vector<uint64_t> step(4);
      for (size_t k = 0; k < 4; ++k) {
        step[k] = random_();
        expected_[k] = expected_[k] * 31 + step[k];
      }
      ++steps_;
      session_.CopyIn(step_, 0, BytesOf(step));
      session_.Exec(compiled_, {{0, state_}, {1, step_}}, {{0, first_}});
      if (random_() % 4 != 0 && i + 1 < n) continue;
      wanted.push_back(expected_);
      got.emplace_back(4);
      reads.push_back(session_.CopyOut(state_, 0, MutableBytesOf(got.back())));
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      if (absl::Status read = reads[i].Get(); !read.ok()) return read;
      if (got[i] != wanted[i]) {
        return absl::DataLossError(
            absl::StrCat("after ", steps_, " steps, read ", i, ": the state is wrong"));
      }
    }
    return absl::OkStatus();
  }

  // Bytes there and back beside the control stream.
  absl::Status Bulk() {
    std::vector<uint64_t> up(kBulkBytes / 8), down(kBulkBytes / 8);
    for (uint64_t& word : up) word = random_();
    const Future<void> in = session_.CopyIn(bulk_, 0, BytesOf(up));
    const Future<void> out = session_.CopyOut(bulk_, 0, MutableBytesOf(down));
    if (absl::Status s = in.Get(); !s.ok())
      return absl::Status(s.code(), absl::StrCat("copy in: ", s.message()));
    if (absl::Status s = out.Get(); !s.ok())
      return absl::Status(s.code(), absl::StrCat("copy out: ", s.message()));
    if (up != down) return absl::DataLossError("other bytes came back than were sent");
    return absl::OkStatus();
  }

  int64_t steps() const { return steps_; }
  std::mt19937_64& random() { return random_; }

 private:
  Session session_;
  std::mt19937_64 random_;
  CompiledGraph compiled_;
  Buffer state_, step_, first_, bulk_;
  std::vector<uint64_t> expected_ = {1, 2, 3, 4};
  int64_t steps_ = 0;
};

absl::Status Main() {
  absl::StatusOr<std::unique_ptr<Kilnd>> kilnd = Kilnd::Start();
  if (!kilnd.ok()) return kilnd.status();
  absl::StatusOr<std::unique_ptr<Proxy>> proxy = Proxy::Start((*kilnd)->address());
  if (!proxy.ok()) return proxy.status();
  absl::StatusOr<Session> session = Session::Connect((*proxy)->address());
  if (!session.ok()) return session.status();
  Stepper stepper(*session, absl::GetFlag(FLAGS_seed));
  const int64_t cuts = absl::GetFlag(FLAGS_cuts);
  int64_t bulks = 0;
  while ((*proxy)->num_cuts() < cuts) {
    const bool is_bulk = stepper.random()() % 8 == 0;
    if (!(*proxy)->is_cut_due()) {
      // As often within the first bytes of a connection as much later.
      const int64_t most = int64_t{16} << (stepper.random()() % (is_bulk ? 18 : 11));
      (*proxy)->CutAfter(1 +
                         static_cast<int64_t>(stepper.random()() % static_cast<uint64_t>(most)));
    }
    bulks += is_bulk ? 1 : 0;
    const absl::Status status = is_bulk ? stepper.Bulk() : stepper.Steps(20);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("after ", (*proxy)->num_cuts(), " cuts, ", stepper.steps(),
                                       " steps: ", status.message()));
    }
  }
  if (absl::Status status = stepper.Steps(20); !status.ok()) return status;
  std::printf("%" PRId64 " cuts, %" PRId64 " steps, %" PRId64 " copies of %zu bytes: all right\n",
              (*proxy)->num_cuts(), stepper.steps(), bulks, kBulkBytes);
  return session->Close();
}

}  // namespace
}  // namespace kiln::wire

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = kiln::wire::Main();
  if (status.ok()) return 0;
  std::printf("%s\n", status.ToString().c_str());
  return 1;
}
