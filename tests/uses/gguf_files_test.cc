// Commands with GGUF files.
#include <boost/test/unit_test.hpp>

#include "weft/models/tasks/tasks.h"
#include "weft/tests/models/gguf_samples.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(gguf_files)
namespace {

/// A shell with a LLaMA in the file model.weft.
struct GgufShell {
  Shell weft;
  std::string model = weft.path("model.weft");

  GgufShell() {
    auto made = gguf_model(gguf_samples().front().config);
    made->generation = GenerationSettings{};
    made->generation->options.eos_id = 2;
    made->generation->before = {1};
    save_model(model, *without_training(*made));
  }
  std::string path(const std::string& name) const { return weft.path(name); }
  Outcome operator()(const std::string& arguments) const { return weft(arguments); }
  void run(const std::string& arguments) const {
    const Outcome outcome = weft(arguments);
    BOOST_TEST_REQUIRE(outcome.code == 0, arguments << ": " << outcome.err);
  }
  std::string text(const std::string& file) const {
    const Outcome outcome = weft("generate " + file + " --prompt 'the inn' --tokens 12 --greedy");
    BOOST_TEST(outcome.code == 0, outcome.err);
    return outcome.out;
  }
};

BOOST_AUTO_TEST_CASE(weft_files_and_gguf_files_continue_a_text_in_the_same_way) {
  const GgufShell weft;
  const std::string file = weft.path("a.weft"), gguf = weft.path("a.gguf"),
                    again = weft.path("b.gguf");
  weft.run("convert " + weft.model + " --out " + gguf);
  weft.run("convert " + gguf + " --out " + file);
  weft.run("convert " + file + " --out " + again);
  const std::string text = weft.text(weft.model);
  BOOST_TEST(text.starts_with("the inn"));
  for (const std::string& other : {file, gguf, again}) BOOST_TEST(weft.text(other) == text);
  BOOST_TEST(read_whole_file(gguf) == read_whole_file(again));
}

BOOST_AUTO_TEST_CASE(quantised_gguf_files_keep_their_weights_in_weft_files) {
  const GgufShell weft;
  for (const std::string type : {"q8_0", "q4_0", "bf16"}) {
    BOOST_TEST_CONTEXT(type) {
      const std::string gguf = weft.path("a.gguf"), file = weft.path("a.weft"),
                        again = weft.path("b.gguf");
      weft.run("convert " + weft.model + " --force --outtype " + type + " --out " + gguf);
      weft.run("convert " + gguf + " --force --out " + file);
      weft.run("convert " + file + " --force --out " + again);
      BOOST_TEST(weft.text(gguf) == weft.text(file));
      BOOST_TEST(read_whole_file(gguf) == read_whole_file(again));
    }
  }
}

BOOST_AUTO_TEST_CASE(widened_matrices_are_noted) {
  const GgufShell weft;
  const std::string gguf = weft.path("a.gguf");
  weft.run("convert " + weft.model + " --outtype f16 --out " + gguf);
  const Outcome converted = weft("convert " + gguf + " --out " + weft.path("a.weft"));
  BOOST_TEST(contains(converted.out, "note      23 tensors of type F16 were widened to f32"));
  const Outcome generated = weft("generate " + gguf + " --prompt the --tokens 2");
  BOOST_TEST(contains(generated.err, "note: 23 tensors of type F16 were widened to f32"));
}

BOOST_AUTO_TEST_CASE(inspect_describes_the_config_the_metadata_and_the_tensors) {
  const GgufShell weft;
  const std::string gguf = weft.path("a.gguf");
  weft.run("convert " + weft.model + " --outtype q8_0 --out " + gguf);
  const Outcome summary = weft("inspect " + gguf);
  for (const char* part :
       {"a llama of ", "Q8_0", "kv_heads", "llama.context_length", "an array of 300 strings"})
    BOOST_TEST(contains(summary.out, part), summary.out << " lacks " << part);
  const Outcome tensors = weft("inspect " + gguf + " --variables");
  BOOST_TEST(contains(tensors.out, "Q8_0   [300, 64]            token_embd.weight"), tensors.out);
  check_error(weft("inspect " + gguf + " --graph"), 2, "are for .weft files");
}

BOOST_AUTO_TEST_CASE(scores_and_adapters_work_with_gguf_files) {
  const GgufShell weft;
  const std::string gguf = weft.path("a.gguf");
  weft.run("convert " + weft.model + " --outtype q8_0 --out " + gguf);
  weft.run("score " + gguf + " --continuation 'the inn is in the rain'");
  weft.run("train gpt --from " + gguf + " --text " + weft.path("text.txt") +
           " --lora-rank 2 --steps 2 --batch 2 --context 16 --out " + weft.path("tuned.weft"));
  weft.run("merge " + gguf + " --adapters " + weft.path("tuned.lora.safetensors") + " --out " +
           weft.path("merged.weft"));
}

BOOST_AUTO_TEST_CASE(errors_of_conversions_name_the_option_and_the_file) {
  const GgufShell weft;
  const std::string gguf = weft.path("a.gguf");
  check_error(weft("convert " + weft.model + " --outtype q8_0 --out " + weft.path("a.weft")), 2,
              "--outtype is for GGUF files: --out must end with .gguf");
  weft.weft.write("a.gguf", "no model");
  check_error(weft("convert " + weft.model + " --out " + gguf), 1, "is not a GGUF file");
  check_error(weft("convert " + weft.model + " --force --inference --out " + gguf), 2,
              "--inference is for .weft files");
  weft.run("convert " + weft.model + " --force --out " + gguf);
  check_error(weft("generate " + gguf + " --prompt the --ignore-config-key llama.flavour"), 1,
              "does not contain the key 'llama.flavour'");
  weft.weft.write("short.gguf", read_whole_file(gguf).substr(0, 5000));
  check_error(weft("generate " + weft.path("short.gguf") + " --prompt the"), 1, "short.gguf");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
