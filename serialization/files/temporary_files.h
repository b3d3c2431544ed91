// Paths and temporary names of files and folders that are being written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// Follows symbolic links. The target need not exist. Throws IoError for a cycle of links.
std::string follow_links(const std::string& path);

/// Returns the parent folder of a file, or "." if the path has none.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Returns true if `end` may follow "PATH.tmp-" in a temporary name, for example "PID-N".
bool is_temporary_suffix(std::string_view end);

/// Removes temporary files of `path` ("PATH.tmp-PID-N") that no process has locked, which killed
/// processes leave behind. Never throws; files that cannot be removed are kept.
void remove_stale_files(const std::string& path);

}  // namespace weft
