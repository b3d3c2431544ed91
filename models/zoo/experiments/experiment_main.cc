#include "weft/models/zoo/experiments/experiment_main.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>

#include "weft/serialization/files/atomic_file.h"

namespace weft::zoo {
namespace {

bool read_steps(const char* text, std::int64_t& steps) {
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, steps);
  return error == std::errc() && rest == end && steps > 0;
}

}  // namespace

int experiment_main(const std::string& name, Experiment experiment, int argc, char** argv) {
  std::int64_t steps = 0;
  if (argc > 3 || (argc == 3 && !read_steps(argv[2], steps))) {
    fmt::print(stderr, "usage: zoo_{} [OUT.svg [STEPS]]\n", name);
    return 2;
  }
  const std::string path = argc > 1 ? argv[1] : name + ".svg";
  try {
    AtomicFile file(path);  // opened first, so that an unwritable path fails before the experiment
    const std::string picture = experiment(steps);
    file.write(picture.data(), picture.size());
    file.commit();
    fmt::print("wrote {}\n", path);
  } catch (const std::exception& e) {
    fmt::print(stderr, "zoo_{}: {}\n", name, e.what());
    return 1;
  }
  return 0;
}

}  // namespace weft::zoo
