// Files that were verified before are not verified again, unless they have changed. The record of
// verified files is untrusted input, and works without a writable cache.
#include "weft/serialization/files/verified_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/environment.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::Environment;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

const LoadOptions kOnce{.verify = true, .once = true};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void set_time(const std::string& path, std::int64_t seconds, long nanoseconds = 5) {
  const timespec times[2] = {{seconds, nanoseconds}, {seconds, nanoseconds}};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

/// A checkpoint that was modified long before, and an empty cache.
struct Fixture {
  TemporaryFolder folder;
  std::string path = folder / "m.weft", cache = folder / "cache";
  Environment environment{"XDG_CACHE_HOME", cache};

  Fixture() { save(1.5); }

  void save(double value, VariableKind kind = VariableKind::parameter) const {
    Graph g;
    const Variable v = g.variable("w", DType::f32, {1000}, {.kind = kind});
    write_checkpoint(path, {Program("p").output("w", v.value())}, [&](const VariableInfo& info) {
      return Tensor::full(info.type.dtype, info.type.shape.constant(), value);
    });
    set_time(path, 1'000'000'000);
  }
  /// Changes a byte of the variable in place, and restores the modification time.
  void damage() const {
    const auto time = FileIdentity::of(path).value();
    std::string bytes = read_file(path);
    const float number = 1.5;
    const std::string wanted(reinterpret_cast<const char*>(&number), sizeof(number));
    const std::size_t at = bytes.find(wanted);
    BOOST_REQUIRE(at != std::string::npos);
    bytes[at + 1] ^= 1;
    write_file(path, bytes);
    set_time(path, time.modified / 1'000'000'000, time.modified % 1'000'000'000);
    BOOST_REQUIRE((FileIdentity::of(path) == time));
  }
  bool is_intact(const LoadOptions& options = kOnce) const {
    try {
      static_cast<void>(load_checkpoint(path, options));
      return true;
    } catch (const FormatError& e) {
      BOOST_TEST(std::string(e.what()).find("is damaged") != std::string::npos);
      return false;
    }
  }
  std::vector<fs::path> records() const {
    std::vector<fs::path> found;
    if (!fs::exists(cache)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(cache)) {
      if (!entry.is_directory()) found.push_back(entry.path());
    }
    return found;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(verified_files)

BOOST_FIXTURE_TEST_CASE(a_file_is_verified_once, Fixture) {
  BOOST_TEST(is_intact());
  BOOST_TEST(records().size() == 1U);
  BOOST_TEST(records().front().string().starts_with(cache + "/weft/"));
  damage();
  BOOST_TEST(is_intact());                   // not read again
  BOOST_TEST(is_intact({.once = true}));     // `once` alone verifies nothing
  BOOST_TEST(!is_intact({.verify = true}));  // reads everything, and forgets the record
  BOOST_TEST(records().empty());
  BOOST_TEST(!is_intact());
  BOOST_TEST(!is_intact());  // a damaged file is not recorded
  BOOST_TEST(records().empty());
}

BOOST_FIXTURE_TEST_CASE(verification_without_once_records_nothing, Fixture) {
  BOOST_TEST(is_intact({.verify = true}));
  BOOST_TEST(is_intact({}));
  BOOST_TEST(!fs::exists(cache));
  verify_file(path);
  BOOST_TEST(!fs::exists(cache));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_has_changed_is_verified_again, Fixture) {
  const std::vector<std::pair<const char*, std::function<void()>>> changes = {
      {"modification time", [&] { set_time(path, 1'000'000'000, 6); }},
      {"inode",
       [&] {
         fs::copy_file(path, folder / "copy");
         fs::rename(folder / "copy", path);
         set_time(path, 1'000'000'000);
       }},
      {"contents and index", [&] {
         save(2.5);
         save(1.5);
       }}};
  for (const auto& [what, change] : changes) {
    BOOST_TEST_CONTEXT(what) {
      save(1.5);
      BOOST_TEST(is_intact());
      damage();
      BOOST_TEST(is_intact());
      change();
      BOOST_TEST(is_intact() == (std::string(what) == "contents and index"));
    }
  }
  // Another file with the name, size and time of a verified one, and with another index.
  save(1.5);
  BOOST_TEST(is_intact());
  const FileIdentity known = FileIdentity::of(path).value();
  BOOST_TEST((recorded_verification(known, 1) == Verified::no));
  FileIdentity other = known;
  ++other.bytes;
  BOOST_TEST((recorded_verification(other, 1) == Verified::no));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_was_just_written_is_not_recorded, Fixture) {
  // A change within the resolution of the modification time would remain unnoticed.
  const FileIdentity file = FileIdentity::of(path).value();
  for (const std::int64_t age : {-40'000'000L, 0L, 10'000'000L, 40'000'000L}) {
    FileIdentity recent = file;
    recent.seen = file.modified + age;
    record_verification(path, recent, 7, Verified::intact);
    BOOST_TEST((recorded_verification(file, 7) == Verified::no));
  }
  // Whole seconds are the resolution of some file systems.
  set_time(path, 1'000'000'000, 0);
  FileIdentity whole = FileIdentity::of(path).value();
  whole.seen = whole.modified + 1'500'000'000;
  record_verification(path, whole, 7, Verified::intact);
  BOOST_TEST((recorded_verification(whole, 7) == Verified::no));
  whole.seen = whole.modified + 2'500'000'000;
  record_verification(path, whole, 7, Verified::intact);
  BOOST_TEST((recorded_verification(whole, 7) == Verified::intact));
  // The file changed while it was verified.
  set_time(path, 1'000'000'001);
  FileIdentity before = FileIdentity::of(path).value();
  set_time(path, 1'000'000'002);
  record_verification(path, before, 8, Verified::intact);
  BOOST_TEST((recorded_verification(before, 8) == Verified::no));
}

BOOST_FIXTURE_TEST_CASE(times_that_do_not_fit_in_64_bits_are_accepted, Fixture) {
  set_time(path, 15'000'000'000);  // in the year 2445; sanitizers report an overflow
  BOOST_TEST(is_intact());
  BOOST_TEST(is_intact());
  BOOST_TEST(records().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(the_search_for_nonfinite_numbers_is_part_of_the_pass, Fixture) {
  for (int run = 0; run < 2; ++run) {  // the second run uses the record
    BOOST_TEST(load_checkpoint(path, kOnce).is_finite());
  }
  BOOST_TEST(!load_checkpoint(path).is_finite());  // unknown without verification
  for (const VariableKind kind : {VariableKind::parameter, VariableKind::optimizer}) {
    for (const double value : {kInfinity, -kInfinity, kNan}) {
      save(value, kind);
      for (int run = 0; run < 2; ++run) BOOST_TEST(!load_checkpoint(path, kOnce).is_finite());
    }
  }
  save(kInfinity, VariableKind::buffer);  // a mask may contain infinities
  for (int run = 0; run < 2; ++run) BOOST_TEST(load_checkpoint(path, kOnce).is_finite());
}

BOOST_FIXTURE_TEST_CASE(nonfinite_numbers_are_found_in_every_block_and_dtype, Fixture) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{300'001}}) {
      for (const std::int64_t at : {std::int64_t{-1}, std::int64_t{0}, size / 2, size - 1}) {
        Graph g;
        const Variable none = g.variable("none", dtype, {0});
        const Variable v = g.variable("w", dtype, {size});
        Tensor values = Tensor::zeros(DType::f64, {size});
        if (at >= 0) values.mutable_data<double>()[at] = kNan;
        write_checkpoint(path, {Program("p").output("w", v.value()).output("none", none.value())},
                         [&](const VariableInfo& info) {
                           return info.name == "w" ? values.to(dtype)
                                                   : Tensor::zeros(dtype, Sizes{0});
                         });
        BOOST_TEST(load_checkpoint(path, {.verify = true}).is_finite() == (at < 0));
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_cache_that_cannot_be_used_is_no_error, Fixture) {
  const std::string file = folder.write("file", "");
  for (const std::optional<std::string>& place :
       std::vector<std::optional<std::string>>{file, file + "/below", "relative", "", {}}) {
    const Environment xdg("XDG_CACHE_HOME", place);
    const Environment home("HOME", {});
    BOOST_TEST(is_intact());
    BOOST_TEST(is_intact());
    BOOST_TEST(!fs::exists("relative"));
  }
  BOOST_TEST(read_file(file).empty());
  const Environment xdg("XDG_CACHE_HOME", {});
  const Environment home("HOME", folder.path());
  BOOST_TEST(is_intact());
  BOOST_TEST(fs::exists(folder / ".cache/weft"));
}

BOOST_FIXTURE_TEST_CASE(records_are_untrusted_input, Fixture) {
  BOOST_TEST(is_intact());
  const std::string record = records().front();
  const std::string text = read_file(record);
  damage();
  BOOST_TEST(is_intact());
  const auto rejected = [&](const char* what) {
    BOOST_TEST_CONTEXT(what) { BOOST_TEST(!is_intact()); }
    fs::remove_all(record);
  };
  for (const std::string& bytes :
       {std::string(), text.substr(1), text + "\n", text + std::string(1 << 20, 'x'),
        text.substr(0, text.size() - 1), std::string(300, '\0'), "weft 2" + text.substr(6)}) {
    write_file(record, bytes);
    rejected("other bytes");
  }
  write_file(record, text);
  BOOST_TEST(is_intact());
  fs::permissions(record, fs::perms::others_write, fs::perm_options::add);
  rejected("writable for others");
  write_file(record, text);
  fs::permissions(record, fs::perms::group_write, fs::perm_options::add);
  rejected("writable for the group");
  fs::create_symlink(folder.write("elsewhere", text), record);
  rejected("symbolic link");
  BOOST_REQUIRE(::mkfifo(record.c_str(), 0600) == 0);
  rejected("pipe");
  fs::create_directories(record);
  rejected("folder");
}

BOOST_FIXTURE_TEST_CASE(records_replace_links_and_keep_their_targets, Fixture) {
  BOOST_TEST(is_intact());
  const std::string record = records().front(), target = folder.write("target", "kept");
  fs::remove(record);
  fs::create_symlink(target, record);
  BOOST_TEST(is_intact());
  BOOST_TEST(read_file(target) == "kept");
  BOOST_TEST(!fs::is_symlink(record));
}

BOOST_FIXTURE_TEST_CASE(the_number_of_records_is_limited, Fixture) {
  BOOST_TEST(is_intact());
  const fs::path place = records().front().parent_path();
  const std::string other = (place / "photo-1.jpg").string();
  write_file(other, "");
  set_time(other, 1'000'000'000);
  for (int i = 0; i < 4100; ++i) write_file((place / ("1f-" + std::to_string(i))).string(), "");
  set_time(path, 1'000'000'003);
  BOOST_TEST(is_intact());
  BOOST_TEST(records().size() < 2100U);
  BOOST_TEST(fs::exists(other));
  damage();
  BOOST_TEST(is_intact());  // the newest record is kept
}

BOOST_FIXTURE_TEST_CASE(threads_record_files_concurrently, Fixture) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int run = 0; run < 20; ++run) static_cast<void>(load_checkpoint(path, kOnce));
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(records().size() == 1U);
  damage();
  BOOST_TEST(is_intact());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
