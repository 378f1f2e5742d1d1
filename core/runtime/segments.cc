#include "core/runtime/segments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace kiln::runtime::internal {
namespace {

struct Use {
  int32_t buffer;
  bool writes;
};

std::vector<Use> UsesOf(const PlanItem& item) {
  std::vector<Use> uses;
  if (const auto* launch = std::get_if<PlanLaunch>(&item)) {
    const auto num_written = static_cast<size_t>(launch->num_written);
    for (size_t i = 0; i < launch->buffers.size(); ++i) {
      uses.push_back({launch->buffers[i], i < num_written});
    }
  } else {
    const auto& copy = std::get<PlanCopy>(item);
    uses = {{copy.from, false}, {copy.to, true}};
  }
  return uses;
}

void AddOnce(std::vector<int32_t>& to, int32_t v) {
  if (std::find(to.begin(), to.end(), v) == to.end()) to.push_back(v);
}

class Splitter {
 public:
  explicit Splitter(Plan& plan)
      : plan_(plan),
        open_(plan.devices.size(), -1),
        last_(plan.devices.size(), -1),
        foreign_(plan.devices.size()),
        last_write_(plan.buffers.size(), -1) {}

  void Run() {
    for (int32_t i = 0; i < static_cast<int32_t>(plan_.items.size()); ++i) AddItem(i);
    for (int32_t& s : open_) Close(s);
    Renumber();
  }

 private:
  // An access to the memory of a device by the queue of another, which its own queue has not waited
  // for.
  struct Foreign {
    int32_t buffer, segment;
    bool writes;
  };

  // The queue that runs an item. A copy runs where it goes to, if it can.
  int32_t DeviceOf(const PlanItem& item) const {
    if (const auto* launch = std::get_if<PlanLaunch>(&item)) {
      return launch->buffers.empty() ? 0 : plan_.buffers[launch->buffers[0]].device;
    }
    const auto& copy = std::get<PlanCopy>(item);
    const int32_t to = plan_.buffers[copy.to].device, from = plan_.buffers[copy.from].device;
    return plan_.devices[to]->Reaches(*plan_.devices[from]) ? to : from;
  }

  bool Overlap(int32_t a, int32_t b) const {
    if (a == b) return true;
    const PlanBuffer &x = plan_.buffers[a], &y = plan_.buffers[b];
    return x.kind == PlanBuffer::Kind::kTemporary && y.kind == PlanBuffer::Kind::kTemporary &&
           x.device == y.device && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
  }

  void Close(int32_t& s) {
    if (s < 0) return;
    order_.push_back(s);
    s = -1;
  }

  // The open segment of a device, after which all of `waits` have been submitted and waited for.
  int32_t Open(int32_t device, absl::Span<const int32_t> waits) {
    for (int32_t w : waits) {
      if (int32_t& s = open_[segments_[w].device]; s == w) Close(s);
    }
    int32_t& s = open_[device];
    if (s >= 0 && !segments_[s].items.empty()) {
      const std::vector<int32_t>& has = segments_[s].waits;
      for (int32_t w : waits) {
        if (std::find(has.begin(), has.end(), w) == has.end()) {
          Close(s);
          break;
        }
      }
    }
    if (s < 0) {
      s = static_cast<int32_t>(segments_.size());
      segments_.push_back({.device = device});
      if (last_[device] >= 0) segments_[s].waits.push_back(last_[device]);  // For its outcome.
      last_[device] = s;
    }
    for (int32_t w : waits) AddOnce(segments_[s].waits, w);
    return s;
  }

  // Segments of other queues that must be over before `device` uses a buffer.
  void AppendWaits(int32_t device, Use use, std::vector<int32_t>& waits) {
    const int32_t owner = plan_.buffers[use.buffer].device;
    const auto add = [&](int32_t s) {
      if (s >= 0 && segments_[s].device != device) AddOnce(waits, s);
    };
    add(last_write_[use.buffer]);
    if (owner != device && use.writes) add(last_[owner]);  // All that its own queue does before.
    std::vector<Foreign>& foreign = foreign_[owner];
    for (const Foreign& f : foreign) {
      if ((use.writes || f.writes) && Overlap(use.buffer, f.buffer)) add(f.segment);
    }
    if (owner != device) return;
    std::erase_if(foreign, [&](const Foreign& f) {
      return std::find(waits.begin(), waits.end(), f.segment) != waits.end();
    });
  }

  void AddItem(int32_t i) {
    const PlanItem& item = plan_.items[i];
    const int32_t device = DeviceOf(item);
    const std::vector<Use> uses = UsesOf(item);
    std::vector<int32_t> waits;
    if (plan_.devices.size() > 1) {
      for (const Use& use : uses) AppendWaits(device, use, waits);
    }
    const int32_t s = Open(device, waits);
    segments_[s].items.push_back(i);
    for (const Use& use : uses) Record(s, use);
  }

  void Record(int32_t s, Use use) {
    PlanSegment& segment = segments_[s];
    const PlanBuffer& buffer = plan_.buffers[use.buffer];
    if (use.writes) last_write_[use.buffer] = s;
    if (buffer.device != segment.device) {
      foreign_[buffer.device].push_back({use.buffer, s, use.writes});
    }
    if (buffer.kind == PlanBuffer::Kind::kTemporary) {
      if (buffer.device != segment.device) AddOnce(segment.foreign_arenas, buffer.device);
    } else {
      touched_.push_back({s, use});
    }
  }

  // Puts the segments in the order in which they were closed: what they wait for comes before.
  void Renumber() {
    std::vector<int32_t> number(segments_.size(), 0);
    for (size_t i = 0; i < order_.size(); ++i) number[order_[i]] = static_cast<int32_t>(i);
    for (const auto& [s, use] : touched_) {
      (use.writes ? segments_[s].writes : segments_[s].reads).push_back(use.buffer);
    }
    for (int32_t s : order_) {
      PlanSegment& segment = segments_[s];
      for (int32_t& w : segment.waits) w = number[w];
      for (std::vector<int32_t>* list : {&segment.reads, &segment.writes}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
      plan_.segments.push_back(std::move(segment));
    }
  }

  Plan& plan_;
  std::vector<PlanSegment> segments_;
  std::vector<int32_t> order_;                    // Closed segments, in order of closing.
  std::vector<int32_t> open_, last_;              // By device; -1: none.
  std::vector<std::vector<Foreign>> foreign_;     // By device.
  std::vector<int32_t> last_write_;               // By buffer; -1: none.
  std::vector<std::pair<int32_t, Use>> touched_;  // By segment: inputs and outputs.
};

}  // namespace

void AddSegments(Plan& plan) { Splitter(plan).Run(); }

}  // namespace kiln::runtime::internal
