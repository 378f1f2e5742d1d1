// How a session is opened.
#pragma once

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace kiln {

struct SessionOptions {
  // Free text for operators: "train.py on laptop".
  std::string client_name;
  // Without a sign of life for so long, the server ends the session. Zero: the server's choice. The
  // session gives signs of life by itself, on a thread of its own.
  absl::Duration lease = absl::ZeroDuration();
  // Lets the server reassociate and approximate floats.
  bool fast_math = false;
  // To connect and open the session within.
  absl::Duration connect_timeout = absl::Seconds(10);
  // How long a broken connection may stay away before the session gives up and all that is under
  // way fails. Zero: the lease, after which nothing is left to come back to.
  absl::Duration give_up_after = absl::ZeroDuration();
  // Bytes of commands that the server has not acknowledged. A command over it waits until there is
  // room: that is what a caller faster than the server runs into.
  size_t max_unacked_bytes = size_t{64} << 20;
};

}  // namespace kiln
