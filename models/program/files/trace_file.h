// The timeline of a command (--trace).
#pragma once

#include <memory>
#include <optional>

#include "weft/core/world/world.h"
#include "weft/graph/engine/trace.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/options/trace_arguments.h"

namespace weft::program {

/// Writes the timeline of the Sessions that have trace() as SessionOptions::trace. Does nothing if
/// --trace was not given.
class TraceFile {
 public:
  /// Plans the file. Throws the same errors as CommandPaths::plan_file().
  TraceFile(const TraceArguments& args, CommandPaths& paths, const World& world = {});

  /// Returns the trace for SessionOptions, or null.
  Trace* trace() { return trace_.get(); }
  /// Writes the events of all ranks to one file, in which every rank is a process, and prints a
  /// line on stderr. Collective. Throws DataError if no step was recorded, and IoError.
  void write(const World& world);

 private:
  TraceArguments args_;
  std::optional<OutputFile> file_;
  std::unique_ptr<Trace> trace_;
};

}  // namespace weft::program
