#include "server/executor/graphs.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/dtype/status.h"
#include "kiln/v1/graph.pb.h"
#include "server/graph/import.h"

namespace kiln::server {
namespace {

std::string KeyOf(const GraphText& text, absl::Span<const uint32_t> outputs) {
  std::string key(text.digest.view());
  const size_t at = key.size();
  key.resize(at + outputs.size() * sizeof(uint32_t));
  if (!outputs.empty()) std::memcpy(&key[at], outputs.data(), outputs.size() * sizeof(uint32_t));
  return key;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GraphText>> Graphs::FindText(const std::string& hash) {
  if (hash.size() != sizeof(runtime::Digest)) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph_hash has ", hash.size(), " bytes, a SHA-256 has 32"));
  }
  absl::MutexLock lock(&mu_);
  if (const auto* found = texts_.Find(hash)) return *found;
  return UnknownGraph();
}

std::shared_ptr<const ReadyGraph> Graphs::FindReady(const GraphText& text,
                                                    absl::Span<const uint32_t> outputs) {
  const std::string key = KeyOf(text, outputs);
  absl::MutexLock lock(&mu_);
  const auto* found = ready_.Find(key);
  return found == nullptr ? nullptr : *found;
}

absl::StatusOr<std::shared_ptr<const ReadyGraph>> Graphs::Prepare(
    runtime::Engine& engine, const std::shared_ptr<const GraphText>& text,
    absl::Span<const uint32_t> outputs, bool captured) {
  pb::Graph graph;
  if (!graph.ParseFromString(text->bytes)) {
    return absl::InvalidArgumentError("the graph is no message of type kiln.v1.Graph");
  }
  const tensor::GraphLimits limits = {.nodes = limits_.max_nodes,
                                      .name_bytes = limits_.max_name_bytes};
  absl::StatusOr<tensor::TensorGraph> imported = ImportGraph(graph, outputs, limits);
  if (!imported.ok()) return WithNodeLabel(imported.status(), graph);
  const int64_t built = engine.counters().plans_built;
  ReadyGraph ready;
  KILN_ASSIGN_OR_RETURN(ready.runner,
                        captured ? engine.Capture(*imported) : engine.Prepare(*imported));
  ready.was_known = engine.counters().plans_built == built;
  auto shared = std::make_shared<const ReadyGraph>(std::move(ready));
  absl::MutexLock lock(&mu_);
  texts_.Add(std::string(text->digest.view()), text, static_cast<int64_t>(text->bytes.size()));
  if (!captured) ready_.Add(KeyOf(*text, outputs), shared, 1);
  return shared;
}

absl::Status Graphs::CheckNew(uint64_t id) const {
  if (id == 0) return absl::InvalidArgumentError("graph ids begin at 1");
  absl::MutexLock lock(&mu_);
  if (closed_) return absl::FailedPreconditionError("the session has ended");
  if (named_.contains(id)) {
    return absl::AlreadyExistsError(absl::StrCat("there is a graph ", id, " already"));
  }
  if (static_cast<int64_t>(named_.size()) >= limits_.max_graphs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the session has ", named_.size(), " graphs, max_graphs of it"));
  }
  return absl::OkStatus();
}

void Graphs::AddNamed(uint64_t id, Named named) {
  absl::MutexLock lock(&mu_);
  if (closed_ || id == 0 || static_cast<int64_t>(named_.size()) >= limits_.max_graphs) return;
  named_.try_emplace(id, std::move(named));
}

void Graphs::Add(uint64_t id, std::shared_ptr<const ReadyGraph> graph) {
  AddNamed(id, {.graph = std::move(graph)});
}

void Graphs::AddFailed(uint64_t id, const Failure& failure) { AddNamed(id, {.failure = failure}); }

absl::StatusOr<std::shared_ptr<const ReadyGraph>> Graphs::Find(uint64_t id) const {
  if (id == 0) return absl::InvalidArgumentError("graph ids begin at 1");
  absl::MutexLock lock(&mu_);
  const auto found = named_.find(id);
  if (found == named_.end()) return absl::NotFoundError(absl::StrCat("there is no graph ", id));
  if (found->second.graph == nullptr) {
    return Poisoned(absl::StrCat("graph ", id), found->second.failure);
  }
  return found->second.graph;
}

absl::Status Graphs::Remove(uint64_t id) {
  if (id == 0) return absl::InvalidArgumentError("graph ids begin at 1");
  absl::MutexLock lock(&mu_);
  if (named_.erase(id) == 0) return absl::NotFoundError(absl::StrCat("there is no graph ", id));
  return absl::OkStatus();
}

void Graphs::Close() {
  absl::flat_hash_map<uint64_t, Named> dropped;
  absl::MutexLock lock(&mu_);
  closed_ = true;
  dropped.swap(named_);
  texts_ = LruMap<std::shared_ptr<const GraphText>>(limits_.max_text_bytes);
  ready_ = LruMap<std::shared_ptr<const ReadyGraph>>(limits_.max_ready);
}

int64_t Graphs::size() const {
  absl::MutexLock lock(&mu_);
  return static_cast<int64_t>(named_.size());
}

}  // namespace kiln::server
