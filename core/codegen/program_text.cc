#include "core/codegen/program_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/codegen/program_info.h"
#include "core/dtype/status.h"
#include "core/rewrite/specs.h"
#include "core/uop/parse.h"
#include "core/uop/text.h"

namespace kiln::codegen {
namespace {

constexpr int64_t kMaxBuffers = 4096;

absl::Status CheckBuffers(Ref linear, int64_t num_buffers) {
  for (Ref n : linear->src()) {
    for (Ref s : n->src()) {
      if (!s->Is(Op::kParam)) continue;
      const uop::ParamInfo p = uop::ParamOf(s);
      const bool is_buffer = p.space == uop::AddressSpace::kGlobal;
      if (p.number < 0 || is_buffer != (p.number < num_buffers)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "program with ", num_buffers, " buffers has a param with number ", p.number));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToText(const Program& program) {
  return absl::StrCat("program ", program.name, " buffers ", program.buffers.size(),
                      " vector_axis ", program.vector_axis, "\n",
                      uop::ToText(program.linear, uop::Layout::kLines));
}

absl::StatusOr<Program> ParseProgram(Graph& g, std::string_view text) {
  const size_t end_of_line = std::min(text.find('\n'), text.size());
  const std::vector<std::string> words =
      absl::StrSplit(absl::string_view(text.data(), end_of_line), ' ');
  Program program;
  int64_t num_buffers = 0;
  if (words.size() != 6 || words[0] != "program" || words[2] != "buffers" ||
      words[4] != "vector_axis" || !absl::SimpleAtoi(words[3], &num_buffers) ||
      !absl::SimpleAtoi(words[5], &program.vector_axis) || num_buffers < 0 ||
      num_buffers > kMaxBuffers) {
    return absl::InvalidArgumentError("no text of a program");
  }
  program.name = words[1];
  KILN_ASSIGN_OR_RETURN(program.linear, uop::Parse(g, text.substr(end_of_line)));
  if (!program.linear->Is(Op::kLinear)) return absl::InvalidArgumentError("a program is a LINEAR");
  KILN_RETURN_IF_ERROR(rewrite::Verify(g, program.linear, rewrite::kProgramSpec));
  KILN_RETURN_IF_ERROR(CheckBuffers(program.linear, num_buffers));
  internal::Describe(g, num_buffers, program);
  return program;
}

}  // namespace kiln::codegen
