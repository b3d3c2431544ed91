// How commands write events for TensorBoard (--tensorboard).
#pragma once

#include <cstdint>

#include "weft/models/program/terminal/console.h"
#include "weft/models/tensorboard/event_writer.h"

namespace weft::program {

/// Returns the options of the event file of a run that begins with step `purge_step`. If the file
/// cannot be written, the error is printed once, and the run continues without events; the command
/// then exits with code 1 (EventWriter::failed()).
inline EventWriterOptions tensorboard_options(std::int64_t purge_step) {
  return {.purge_step = purge_step, .on_error = [](const IoError& e) {
            print_stderr("weft: --tensorboard: {}\n", e.what());
          }};
}

}  // namespace weft::program
