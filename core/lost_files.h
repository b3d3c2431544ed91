// What is said where a mapped file goes away under its readers.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A mapped file that another program cuts or overwrites in place (or whose disk fails) cannot be
/// read any more where the bytes were: the next read of them is the signal SIGBUS. This installs a
/// handler that writes one line with the file's path and the byte to stderr, as an error of
/// `program` (which must live as long as the process), and ends the process with exit code 1. Bus
/// errors elsewhere go to the handler that was there before. For programs, once, at their start;
/// libraries leave signals alone. (Saving by renaming, as Weft does, never harms a mapping.)
void explain_lost_files(const char* program);

/// Internal to MappedFile: the mappings that are alive. `path` lives as long as the mapping.
void register_mapping(const void* data, std::size_t bytes, const char* path);
void forget_mapping(const void* data);

}  // namespace weft
