// The page of the server, which the build generates from page.html (cmake/weft_page.cmake).
#pragma once

#include <string_view>

namespace weft {

/// The HTML file that the server returns at `/`. It loads nothing else.
std::string_view page();

/// The value of the header Content-Security-Policy for page(): only the script and the style sheet
/// of the page run, identified by their SHA-256 hashes, and requests go to this server only.
std::string_view page_policy();

}  // namespace weft
