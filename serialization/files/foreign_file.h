// Recognises files of formats that Weft does not read, for error messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the format of a file and the remedy, for example "a Git LFS pointer instead of the file
/// itself: download the file (git lfs pull)". `head` is the beginning of the file; 512 bytes are
/// enough. If the contents are not distinctive, the ending of `path` determines the format. Returns
/// "" if the format is unknown.
std::string foreign_format(std::string_view head, std::string_view path = {});

/// Returns true for a Git LFS pointer, a small text in place of a file that was not downloaded.
bool is_lfs_pointer(std::string_view text);

/// Returns foreign_format() after "; this is ", or "".
std::string foreign_hint(std::string_view head, std::string_view path = {});

}  // namespace weft
