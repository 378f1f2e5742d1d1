// A session with a kilnd: buffers, graphs and commands, pipelined.
//
//   absl::StatusOr<kiln::Session> session = kiln::Session::Connect("unix:/run/kilnd.sock");
//   kiln::Buffer x = session->Alloc(4096);
//   session->CopyIn(x, 0, bytes);                               // None of these waits ...
//   kiln::Buffer y = session->NewBuffer();
//   session->Run(graph, {{0, x}}, {{5, y}});
//   absl::Status status = session->CopyOut(y, 0, out).Get();    // ... but this.
//
// Most programs want tensor.h instead, which makes graphs out of expressions.
//
// Commands take effect in the order in which they are given (of several threads: in some order).
// They are numbered and kept until the server has acknowledged them; after a broken connection they
// are sent again, and each is applied once. A command that fails changes nothing, but what it would
// have written is poisoned: what reads it fails with FailedPrecondition, and DetailsOf(status)->cause
// is the first failure. The rest of the session goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "client/cpp/buffer.h"
#include "client/cpp/future.h"
#include "client/cpp/graph.h"
#include "client/cpp/internal/hold.h"
#include "client/cpp/options.h"
#include "client/cpp/status.h"
#include "kiln/v1/kiln.pb.h"

namespace kiln {

using VarVals = std::map<std::string, int64_t>;  // By name of the graph's variables.

// The buffer of an input slot, or of the output at this position of a compiled graph.
struct Binding {
  uint32_t slot = 0;
  Buffer buffer;
};
// The buffer that gets the value of a node.
struct Output {
  uint32_t node = 0;
  Buffer buffer;
};
struct RunOptions {
  VarVals var_vals = {};
  bool timed = false;  // Asks for device_ns of the result.
};

// Of a large copy: bytes done, of all. Called on threads of gRPC: must be quick, and must neither
// wait for commands nor drop the last handle of a session.
using Progress = std::function<void(size_t done, size_t bytes)>;

// Thread-safe. Copies stand for the same session, which ends with the last of them and of its
// handles: what it has is freed, and what is under way ends with Cancelled. No destructor waits for
// commands, only (a second at most) for the server to answer that it has seen the end.
class Session {
 public:
  // "unix:/path", "host:port", "grpc://host:port". Unavailable if nobody listens there.
  static absl::StatusOr<Session> Connect(const std::string& address,
                                         const SessionOptions& options = {});

  // ** buffers **: `bytes` of the caller are copied at once up to the server's max_inline_bytes; more
  // go beside the commands, by reference, and must stay as they are until the future is done.
  Buffer Alloc(size_t bytes, const std::string& device = "");
  // An id for a buffer that a run or GraphExec makes, of the size of the output.
  Buffer NewBuffer();
  // Part of a buffer: shares its memory. `offset` is a multiple of the device's alignment.
  Buffer View(const Buffer& of, size_t offset, size_t bytes);
  Future<void> CopyIn(const Buffer& to, size_t offset, absl::Span<const std::byte> bytes,
                      Progress progress = nullptr);
  // From a blob that PutBlob has put.
  Future<void> CopyInBlob(const Buffer& to, size_t offset, const std::string& sha256,
                          size_t blob_offset, size_t bytes);
  Future<void> CopyOut(const Buffer& from, size_t offset, absl::Span<std::byte> bytes,
                       Progress progress = nullptr);
  // Between buffers of this session, attached ones included.
  Future<void> Transfer(const Buffer& from, size_t from_offset, const Buffer& to, size_t to_offset,
                        size_t bytes);

  // ** graphs **: a graph that the session has sent before goes as its hash.
  Future<v1::GraphResult> Run(const EncodedGraph& graph, absl::Span<const Binding> inputs,
                              absl::Span<const Output> outputs, const RunOptions& options = {});
  CompiledGraph Compile(const EncodedGraph& graph, absl::Span<const uint32_t> outputs);
  // Runs a compiled graph. `outputs`: one for each output that was compiled, by position.
  Future<v1::GraphExecResult> Exec(const CompiledGraph& graph, absl::Span<const Binding> inputs,
                                   absl::Span<const Binding> outputs,
                                   const RunOptions& options = {});

  // ** order **
  // Done when all commands before it are.
  Future<void> Sync();
  // Ends commands up to number `up_to` (0: all before) that are queued or run, with Cancelled.
  Future<void> Cancel(uint64_t up_to = 0);
  // An event stands for all commands before RecordEvent. It may be recorded anew.
  uint64_t NewEvent();
  // The ticket by which another session of this server can wait.
  Future<std::string> RecordEvent(uint64_t event);
  // Commands after it begin when the event of the ticket has passed.
  Future<void> WaitEvent(const std::string& ticket);
  // As long as it lives, commands that this thread gives to the session are sent together, at its
  // end or when the thread waits for a result. Stays in the scope where it is made.
  [[nodiscard]] client::HeldCommands Hold() const { return client::HeldCommands(core_); }

  // ** sharing **
  // A ticket by which other sessions can attach the buffer; treat it like a password.
  Future<std::string> Share(const Buffer& buffer, v1::ShareMode mode);
  // Waits.
  absl::StatusOr<Buffer> Attach(const std::string& ticket);

  // ** blobs **: content that the server keeps by its hash. These wait.
  // Puts what the server does not have yet; returns the SHA-256 (32 bytes).
  absl::StatusOr<std::string> PutBlob(absl::Span<const std::byte> bytes,
                                      Progress progress = nullptr);
  absl::StatusOr<v1::FindBlobsResponse> FindBlobs(absl::Span<const std::string> sha256);

  // ** the server **
  // As it was when the session was opened.
  const v1::ServerInfo& server_info() const;
  absl::StatusOr<v1::ServerInfo> FetchServerInfo();
  absl::StatusOr<v1::ListFunctionsResponse> ListFunctions();

  // ** the end **
  // Waits for all commands and ends the session. Else why it has ended.
  absl::Status Close();
  // Why the session takes no more commands (its lease has run out, the server is gone). OK: it does.
  absl::Status status() const;

  // ** any command ** with ids from NewId; its number is set here.
  uint64_t NewId();
  Future<v1::Result> Submit(v1::Command command);
  // The session's id and secret, for calls of other tools.
  const v1::SessionRef& ref() const;
  const std::shared_ptr<client::Core>& core() const { return core_; }
  explicit Session(std::shared_ptr<client::Core> core) : core_(std::move(core)) {}

 private:
  std::shared_ptr<client::Core> core_;
};

}  // namespace kiln
