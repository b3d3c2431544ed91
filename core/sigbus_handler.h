// Error reporting for mapped files that become unreadable while in use.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Installs a SIGBUS handler for mapped files. If another program truncates or overwrites a mapped
/// file in place, or its disk fails, the next read of the affected bytes raises SIGBUS. The handler
/// then prints one line to stderr with the name of the program, the path of the file and the byte
/// offset, and exits the process with code 1. Bus errors at other addresses are passed to the
/// previously installed handler. `program` must stay valid until the process ends.
///
/// Programs call this once at startup; libraries should not install signal handlers. Replacing a
/// file by renaming a new one over it, as Weft does, leaves existing mappings intact.
void install_sigbus_handler(const char* program);

/// Add and remove a mapping; only for use by MappedFile. `path` must stay valid until the mapping
/// is removed.
void register_mapping(const void* data, std::size_t bytes, const char* path);
void unregister_mapping(const void* data);

}  // namespace weft
