#include "backends/cpu/affinity.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace kiln::cpu {

std::vector<int> AvailableCores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cores.push_back(i);
    }
  }
  if (cores.empty()) {  // More cores than a cpu_set_t holds.
    const int count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    for (int i = 0; i < count; ++i) cores.push_back(i);
  }
  return cores;
}

void SetUpThread(const std::string& name, absl::Span<const int> cores) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  sched_setaffinity(0, sizeof(set), &set);  // It may fail: then the thread runs anywhere.
}

}  // namespace kiln::cpu
