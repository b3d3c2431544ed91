// Where files and folders are written, and what they are called until they are whole.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// The path behind links, also where nothing is there yet. IoError for links that lead in a circle.
std::string behind_links(const std::string& path);

/// Whether a name that begins with "PATH.tmp-" and goes on like this is a saver's: "PID-N".
bool is_of_a_saver(std::string_view end);

}  // namespace weft
