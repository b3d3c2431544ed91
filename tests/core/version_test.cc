#include "weft/core/version.h"

#include <boost/test/unit_test.hpp>
#include <string>

namespace weft {
namespace {

BOOST_AUTO_TEST_CASE(the_version_of_the_library_matches_the_headers) {
  BOOST_TEST(version_number() == WEFT_VERSION);
  BOOST_TEST(version() == std::to_string(WEFT_VERSION_MAJOR) + "." +
                              std::to_string(WEFT_VERSION_MINOR) + "." +
                              std::to_string(WEFT_VERSION_PATCH));
}

}  // namespace
}  // namespace weft
