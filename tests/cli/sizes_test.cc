// Sizes that exceed the memory of any machine are rejected before any work starts. The error states
// the memory that would be needed.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "command_files.h"
#include "command_walk.h"
#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/models/hf/model.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
BOOST_AUTO_TEST_SUITE(sizes)
namespace {

namespace fs = std::filesystem;

const CommandFiles& files() {
  static const CommandFiles shared;
  return shared;
}

BOOST_AUTO_TEST_CASE(errors_name_options_with_excessive_sizes) {
  const CommandFiles& weft = files();
  const std::string gpt = weft.base("train gpt") + " --out new.weft";
  weft.check_rejected(with(gpt, "--layers", "100000"), "layers must be at most 4096, not 100000");
  weft.check_rejected(with(gpt, "--batch", "1000000000"), "batch must be at most");
  weft.check_rejected(with(gpt, "--steps", "9223372036854775807"), "steps must be at most");
  weft.check_rejected(with(gpt, "--seed", "18446744073709551616"), "--seed must be an integer");
  weft.check_rejected(with(gpt, "--lr", "nan"), "--lr must be a finite number, not 'nan'");
  weft.check_rejected(with(gpt, "--dropout", "nan"),
                      "--dropout must be a finite number in [0, 0.99]");
  weft.check_rejected(with(gpt, "--memory-budget", "-1"),
                      "--memory-budget must be a number of bytes");
  weft.check_rejected("generate gpt.weft --beams 1000000",
                      "--beams must be an integer in [1, 4096], not '1000000'");
  weft.check_rejected("generate gpt.weft --seed -1", "--seed must be an integer in [0, ");
  weft.check_rejected("generate gpt.weft --min-tokens 9 --tokens 5",
                      "--min-tokens 9 is more than the maximum of 5");
  weft.check_rejected("generate gpt.weft --greedy --min-length 9 --max-length 5 --prompt al",
                      "--min-length 9 is more than the maximum of 5");
  weft.check_rejected("inspect gpt.weft --split 2",
                      "no program in gpt.weft has shards for --split");
  weft.check_rejected("bench train --model char-small --shards 3",
                      "shards must be a power of two in [1, 1048576], not 3");
  weft.check_rejected("bench train --model char-small --shards 8",
                      "--batch 4 is not a multiple of 8 shards");
  weft.check_rejected("bench train --model char-small --bucket 100",
                      "--bucket must be a multiple of 64 bytes, not 100");
  const std::string config = weft.read("folder/config.json");
  std::string huge = config;
  const std::size_t at = huge.find("\"n_layers\": ") + 12;
  BOOST_TEST_REQUIRE(at > 12U);
  huge.replace(at, huge.find_first_of(",\n", at) - at, "2147483648");
  weft.write("folder/config.json", huge);
  weft.check_rejected(weft.base("run") + " --outputs out.safetensors",
                      "layers must be at most 4096, not 2147483648");
  weft.write("folder/config.json", config);
}

BOOST_AUTO_TEST_CASE(errors_state_the_required_memory,
                     *boost::unit_test::enable_if<kCanLimitMemory>()) {
  const CommandFiles& weft = files();
  const auto check_memory_error = [&](const std::string& arguments, const std::string& part) {
    // A memory limit set by the shell simulates a small machine.
    const Outcome outcome = weft(arguments, {.kilobytes = 4'000'000});
    BOOST_TEST_CONTEXT(arguments << "\n" << outcome.err) {
      BOOST_TEST(outcome.code == 2);
      BOOST_TEST(contains(outcome.err, part));
      BOOST_TEST(contains(outcome.err, ", but only 3.81 GiB is available: "));
      BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    }
  };
  const std::string gpt = weft.base("train gpt") + " --out new.weft";
  check_memory_error(with(with(gpt, "--width", "65536"), "--layers", "4"),
                     "training a model with 206.16G parameters needs 3072.05 GiB");
  check_memory_error(with(gpt, "--batch", "1000000"), "a training step needs ");
  check_memory_error("bench gemm --m 100000 --n 100000 --k 100000",
                     "this product needs 111.76 GiB");
  check_memory_error("bench attention --seq 100000000", "attention of this size needs");
  check_memory_error("bench forward --model char-small --batch 1000000000 --seq 64",
                     "a batch needs");
  check_memory_error("bench forward --model gpt3-175b", "the model needs 650.");
  check_memory_error("bench decode --batch 1000 --context 60 --model gpt2",
                     "the key/value cache needs");
  weft.write("sentences.txt", [] {
    std::string lines;
    for (int i = 0; i < 2'000'000; ++i) lines += "a b\n";
    return lines;
  }());
  check_memory_error(
      "vectors train --text sentences.txt --model lsa --matrix tf-idf --width 1000 --out new.txt",
      "training vectors for 2 words needs 29.80 GiB");
  weft.run("train seq2seq --out translator.weft" +
           weft.base("train seq2seq").substr(std::string("train seq2seq").size()));
  std::string line, texts;
  for (int i = 0; i < 15; ++i) line += "the ships ";
  for (int i = 0; i < 4096; ++i) texts += line + "\n";
  weft.write("texts.txt", texts);
  check_memory_error("translate translator.weft --input texts.txt --beams 64 --batch 4096",
                     "the key/value cache for 262144 rows of ");
  // The memory for source texts does not grow quadratically with the number of rows.
  const Outcome answered =
      weft("generate translator.weft --prompt \"the ships\" --prompt ships --beams 4096 --tokens 1",
           {.kilobytes = 4'000'000});
  BOOST_TEST(answered.code == 0, answered.err);
  BOOST_TEST(!fs::exists(weft.path("new.weft")));
  BOOST_TEST(!fs::exists(weft.path("new.txt")));
}

// The number of co-occurring word pairs is not known before counting, so this error occurs while
// counting.
BOOST_AUTO_TEST_CASE(co_occurrence_errors_state_the_required_memory,
                     *boost::unit_test::enable_if<kCanLimitMemory>()) {
  const CommandFiles& weft = files();
  std::string text;
  std::uint64_t state = 1;
  for (int i = 0; i < 30'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += "w" + std::to_string((state >> 33) % 6000) + " ";
  }
  weft.write("near.txt", text + "\n");
  for (const char* model : {"glove", "lsa"}) {
    const std::string arguments =
        std::string("vectors train --text near.txt --window 1000 --model ") + model +
        " --width 4 --threads 2 --out new.txt";
    const Outcome outcome = weft(arguments, {.kilobytes = 450'000});
    BOOST_TEST_CONTEXT(arguments << "\n" << outcome.err) {
      BOOST_TEST(outcome.code == 2);
      BOOST_TEST(contains(outcome.err, "counting co-occurrences needs 4"));
      BOOST_TEST(contains(outcome.err, ", but only 439.5 MiB is available: reduce --window"));
      BOOST_TEST(!fs::exists(weft.path("new.txt")));
    }
  }
}

// The variables of this model would not fit into the limit, and to initialise them takes most of
// the time of the command.
BOOST_AUTO_TEST_CASE(impossible_memory_budgets_are_reported_before_variables_are_initialised,
                     *boost::unit_test::enable_if<kCanLimitMemory>()) {
  const Outcome outcome =
      files()("bench train --model gpt2 --threads 1 --memory-budget 1", {.kilobytes = 900'000});
  BOOST_TEST_CONTEXT(outcome.err) {
    BOOST_TEST(outcome.code == 2);
    BOOST_TEST(contains(outcome.err, "memory_budget of 1 bytes (1 B) is too small"));
  }
}

BOOST_AUTO_TEST_CASE(running_out_of_memory_is_a_one_line_error,
                     *boost::unit_test::enable_if<kCanLimitMemory>()) {
  const CommandFiles& weft = files();
  // The matrices need 187,500 KiB. They alone would fit, but not together with the program.
  const Outcome outcome =
      weft("bench gemm --m 4000 --n 4000 --k 4000 --threads 1 --runs 1", {.kilobytes = 188'000});
  BOOST_TEST_CONTEXT(outcome.err) {
    BOOST_TEST(outcome.code == 1);
    BOOST_TEST(outcome.err == "weft: out of memory: cannot allocate 64000000 bytes\n");
  }
}

// Sets every number in the config of every family to far too large values. Either a graph is built
// or the error names the problem. If a number were not checked, a loop over it would not terminate.
BOOST_AUTO_TEST_CASE(every_number_in_a_config_is_checked) {
  std::set<std::string> families;
  int tried = 0;
  for (const auto& entry : fs::directory_iterator(WEFT_FIXTURES "/goldens")) {
    const std::string folder = entry.path().string();
    if (!fs::exists(folder + "/config.json") || !fs::exists(folder + "/inputs.safetensors"))
      continue;
    const nlohmann::json config = nlohmann::json::parse(read_whole_file(folder + "/config.json"));
    families.insert(config.value("model_type", ""));
    const hf::InputTypes inputs =
        hf::input_types(read_safetensors(folder + "/inputs.safetensors").tensors);
    for (const auto& [key, value] : config.items()) {
      if (!value.is_number_integer()) continue;
      for (const std::int64_t number :
           {std::int64_t{1} << 31, std::numeric_limits<std::int64_t>::max(),
            std::numeric_limits<std::int64_t>::min()}) {
        nlohmann::json hostile = config;
        hostile[key] = number;
        ++tried;
        BOOST_TEST_CONTEXT(folder << " " << key << " " << number) {
          try {
            Graph graph;
            hf::build_model(graph, hostile.dump(), inputs);
          } catch (const Error& e) {
            BOOST_TEST(std::string(e.what()).size() < 2000U);
          }
        }
      }
    }
  }
  BOOST_TEST(families.size() >= 14U);
  BOOST_TEST(tried > 300);
}

// Sets each numeric option of every training command to a far too large value, which must be
// accepted if it is meaningful and rejected with a one-line error otherwise. If several commands
// have the same option, only the first command is tested.
BOOST_AUTO_TEST_CASE(every_numeric_training_option_is_checked) {
  const CommandFiles& weft = files();
  std::set<std::string> seen;
  int turn = 0;
  for (const WalkedCommand& command : all_commands()) {
    if (command.words.front() != "train") continue;
    for (const WalkedOption& option : command.options) {
      const bool integer = option.is(kIntegerType), number = option.is(kNumberType);
      if ((!integer && !number) || !seen.insert(option.name).second) continue;
      ++turn;
      const std::string value =
          integer ? (turn % 2 == 0 ? "-9223372036854775808" : "9223372036854775807")
                  : (turn % 2 == 0 ? "-1e300" : "1e300");
      const std::string before = weft.digest();
      const Outcome outcome =
          weft(with(with(weft.base(command.name), option.name, value), "--stop-after", "1") +
                   " --out tried.weft",
               {.kilobytes = 8'000'000});
      BOOST_TEST_CONTEXT(command.name << " " << option.name << " " << value << "\n"
                                      << outcome.err) {
        BOOST_TEST((outcome.code == 0 || outcome.code == 1 || outcome.code == 2));
        if (outcome.code == 0) {
          for (const auto& entry : fs::directory_iterator(weft.path())) {
            if (entry.path().filename().string().starts_with("tried.")) fs::remove(entry.path());
          }
        } else {
          BOOST_TEST(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
        }
        BOOST_TEST(weft.digest() == before);
      }
    }
  }
  BOOST_TEST(turn > 60);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::program
