#include "weft/models/program/files/trace_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
TraceFile::TraceFile(const TraceArguments& args, CommandPaths& paths, const World& world)
    : args_(args) {
  if (args.path.empty()) return;
  if (!world.first()) paths.leave_to_first_rank();
  file_ = paths.plan_file("--trace", args.path, FileKind::trace);
  trace_ = std::make_unique<Trace>(args.steps);
}

void TraceFile::write(const World& world) {
  if (!trace_) return;
  // All ranks use the clock of rank 0 as the origin.
  const std::string origin = world.broadcast(fmt::format("{:.9f}", trace_->start()));
  const std::string own =
      trace_->empty()
          ? std::string()
          : trace_->events({.rank = world.rank(), .origin = std::strtod(origin.c_str(), nullptr)});
  const std::vector<std::string> events = world.gather(own);
  if (!world.first()) return;
  if (trace_->empty()) {
    throw DataError(
        fmt::format("--trace: {} was not written, because the command ended before step {}; choose "
                    "earlier steps with --trace-steps",
                    args_.path, args_.steps.first));
  }
  write_text(*file_, Trace::json(events));
  print_stderr("trace     {}{}\n", args_.path,
               trace_->truncated() ? " (incomplete: too many events; trace fewer steps)" : "");
}

}  // namespace weft::program
