// Where files and folders are written, and what they are called until they are whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weft {

/// The path behind links, also where nothing is there yet. IoError for links that lead in a circle.
std::string behind_links(const std::string& path);

/// The folder that a file lies in, "." where its path names none.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// Whether a name that begins with "PATH.tmp-" and goes on like this is a saver's: "PID-N".
bool is_of_a_saver(std::string_view end);

/// Removes temporary files of `path` that no process has locked: savers that were killed have left
/// them behind ("PATH.tmp-PID-N"). Throws nothing: what cannot be removed stays.
void remove_left_behind(const std::string& path);

}  // namespace weft
