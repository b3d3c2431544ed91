// Paths and temporary names of files and folders that are being written.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Follows symbolic links. The target need not exist. Throws IoError for a cycle of links.
std::string follow_links(const std::string& path);

/// Returns the parent folder of a file, or "." if the path has none.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Calls `use` with the name of every entry of a folder, except "." and "..". Returns false if the
/// folder cannot be read completely. Unlike std::filesystem::directory_iterator, which allocates in
/// noexcept functions, does not end the program if there is no memory.
bool for_each_name(const std::filesystem::path& folder,
                   const std::function<void(const std::string& name)>& use);

/// Returns the final name of a temporary file: "net.weft" for "net.weft.tmp-123-0". Returns nullopt
/// for other names.
std::optional<std::string> target_of_temporary(std::string_view name);

/// Returns true if `file` is named like a temporary file of `path`, which remove_stale_files() may
/// remove.
bool is_temporary_file(const std::string& file, const std::string& path);

/// Removes temporary files of `path` ("PATH.tmp-PID-N") that no process has locked: those of
/// killed processes. Files that cannot be removed are kept.
void remove_stale_files(const std::string& path);

}  // namespace weft
