// A saved file must be synced to disk before it is renamed. Otherwise a power failure could replace
// a good file with an empty one.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "weft/graph/functions.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/testing/temporary_folder.h"

namespace weft {
namespace {

struct Event {
  bool rename = false, folder = false;
  ino_t file = 0;
  off_t bytes = 0;
};

// The events recorded by the functions below on all threads. They are global because the functions
// replace C functions and cannot have additional parameters.
std::vector<Event>& events() {
  static std::vector<Event> list;
  return list;
}

void note(const struct stat& s, bool rename) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  events().push_back({rename, S_ISDIR(s.st_mode), s.st_ino, s.st_size});
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace weft

// These functions shadow the C library functions of the same name.
extern "C" int fsync(int fd) {
  struct stat s = {};
  if (fstat(fd, &s) == 0) weft::note(s, false);
  return weft::next<int (*)(int)>("fsync")(fd);
}

extern "C" int rename(const char* from, const char* to) {
  struct stat s = {};
  if (stat(from, &s) == 0) weft::note(s, true);
  return weft::next<int (*)(const char*, const char*)>("rename")(from, to);
}

namespace weft {
namespace {

BOOST_AUTO_TEST_SUITE(sync_order)

BOOST_AUTO_TEST_CASE(every_writer_syncs_the_file_then_renames_it_then_syncs_the_folder) {
  const testing::TemporaryFolder folder;
  Graph graph;
  Program program("p");
  program.output("y", graph.variable("w", DType::f32, {300}) * 2.0);
  Session session(graph, {.seed = 1, .threads = 1});
  const std::vector<std::function<void(const std::string&)>> writers = {
      [&](const std::string& path) { save_checkpoint(path, session, {program}); },
      [&](const std::string& path) {
        write_safetensors(path, {{"w", Tensor::zeros(DType::f32, {300})}});
      },
      [&](const std::string& path) {
        AtomicFile file(path);
        file.write("text", 4);
        file.commit();
      }};
  for (std::size_t w = 0; w < writers.size(); ++w) {
    for (const std::string when : {"new", "replaced"}) {
      BOOST_TEST_CONTEXT("writer " << w << ", " << when) {
        const std::string path = folder / ("file" + std::to_string(w));
        events().clear();
        writers[w](path);
        struct stat written = {};
        BOOST_TEST_REQUIRE(stat(path.c_str(), &written) == 0);
        BOOST_TEST_REQUIRE(events().size() >= 3U);
        const Event &synced = events()[0], &renamed = events()[1], &last = events().back();
        BOOST_TEST(!synced.rename);
        BOOST_TEST(synced.file == written.st_ino);
        BOOST_TEST(synced.bytes == written.st_size);  // nothing is written after the sync
        BOOST_TEST(renamed.rename);
        BOOST_TEST(renamed.file == written.st_ino);
        BOOST_TEST(!last.rename);
        BOOST_TEST(last.folder);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
