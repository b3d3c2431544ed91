// Commands verify a model file once, until it changes; --verify verifies it again.
#include <fcntl.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/tests/support/environment.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(verify_once)
namespace {

namespace fs = std::filesystem;

/// A trained model in a file that was modified long before, and a cache of verified files.
struct Model {
  Shell weft;
  std::string file = weft.path("m.weft"), cache = weft.path("cache");
  testing::Environment environment{"XDG_CACHE_HOME", cache};

  Model() {
    const Outcome trained = weft("train gpt --text " + weft.path("text.txt") +
                                 " --steps 2 --warmup 1 --batch 2 --threads 2 --layers 1 --heads 2 "
                                 "--width 16 --context 16 --out " +
                                 file);
    BOOST_TEST_REQUIRE(trained.code == 0, trained.err);
    set_time();
  }
  void set_time() const {
    const timespec times[2] = {{1'000'000'000, 5}, {1'000'000'000, 5}};
    BOOST_REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  }
  /// Changes a byte of a tensor in place and restores the modification time.
  void damage() const {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(fs::file_size(file) / 2);
    stream.seekg(at);
    const int byte = stream.get();
    stream.seekp(at);
    stream.put(static_cast<char>(byte ^ 1));
    stream.close();
    set_time();
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_damaged_file_is_found_if_it_changed_or_with_the_option, Model) {
  const std::string generate = "generate " + file + " --tokens 2";
  BOOST_TEST(weft(generate).code == 0);
  BOOST_TEST(fs::exists(cache + "/weft"));
  damage();
  BOOST_TEST(weft(generate).code == 0);  // it was verified before
  check_error(weft(generate + " --verify"), 1, "is damaged");
  check_error(weft(generate), 1, "is damaged");  // the record is gone
  check_error(weft("verify " + file), 1, "is damaged");
  damage();  // repairs the file
  BOOST_TEST(weft("verify " + file).code == 0);
  BOOST_TEST(weft(generate).code == 0);
}

BOOST_FIXTURE_TEST_CASE(every_command_that_reads_a_model_has_the_option, Model) {
  const std::string text = " --text " + weft.path("text.txt");
  const std::string adapters = weft.path("a.lora.safetensors");
  BOOST_TEST(weft("generate " + file + " --tokens 2").code == 0);
  BOOST_TEST_REQUIRE(weft("train gpt --from " + file + text +
                          " --steps 1 --warmup 0 --batch 2 --lora-rank 1 --out " +
                          weft.path("a.weft"))
                         .code == 0);
  const auto copy_records = [&](const std::string& from, const std::string& to) {
    fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  };
  copy_records(cache, weft.path("records"));
  damage();
  BOOST_TEST(weft("inspect " + file).code == 0);  // it was verified before
  for (const std::string& command :
       {"generate " + file + " --tokens 2", "score " + file + " --input " + weft.path("text.txt"),
        "inspect " + file, "inspect " + file + " --variables",
        "convert " + file + " --out " + weft.path("c.weft"),
        "convert " + file + " --inference --out " + weft.path("i.weft"),
        "quantize " + file + " --out " + weft.path("q.weft"), "evaluate " + file + text,
        "merge " + file + " --adapters " + adapters + " --out " + weft.path("merged.weft"),
        "train gpt --from " + file + text + " --steps 1 --warmup 0 --batch 2 --out " +
            weft.path("t.weft"),
        "train gpt --resume " + file + text + " --steps 3 --out " + weft.path("r.weft")}) {
    BOOST_TEST_CONTEXT(command) { check_error(weft(command + " --verify"), 1, "is damaged"); }
    copy_records(weft.path("records"), cache);  // the command has removed the record
  }
  check_error(weft("train gpt" + text + " --out " + weft.path("n.weft") + " --verify"), 2,
              "--verify needs --from or --resume");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
