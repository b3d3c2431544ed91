// weft run: a folder's model on tensors from a file.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/models/data/text.h"
#include "weft/serialization/safetensors.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class RunFolder {
 public:
  RunFolder() : path_(fs::temp_directory_path() / ("weft_run_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~RunFolder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  int operator()(const std::string& arguments) const {
    const std::string command = std::string(WEFT_PROGRAM) + " run " + arguments + " >" +
                                file("out") + " 2>" + file("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string error() const { return read_text_file(file("err")); }

 private:
  fs::path path_;
};

BOOST_AUTO_TEST_CASE(run_writes_outputs_and_gradients_by_the_names_of_the_reference) {
  const RunFolder run;
  const std::string model = std::string(WEFT_FIXTURES) + "/goldens/distilbert-seqcls-regression";
  const std::string arguments =
      model + " --inputs " + model + "/inputs.safetensors --outputs " + run.file("o.safetensors");
  BOOST_REQUIRE_EQUAL(run(arguments + " --gradients"), 0);
  const TensorMap ours = read_safetensors(run.file("o.safetensors")).tensors;
  const TensorMap theirs = read_safetensors(model + "/outputs.safetensors").tensors;
  BOOST_TEST(ours.size() == theirs.size());
  for (const auto& [name, expected] : theirs) {
    BOOST_REQUIRE(ours.contains(name));
    const Tensor& actual = ours.at(name);
    BOOST_REQUIRE(actual.sizes() == expected.sizes());
    double most = 1e-3;
    for (std::int64_t i = 0; i < expected.numel(); ++i)
      most = std::max(most, std::abs(expected.at(i)));
    for (std::int64_t i = 0; i < expected.numel(); ++i)
      BOOST_REQUIRE(std::abs(actual.at(i) - expected.at(i)) < 1e-4 * most);
  }
  BOOST_REQUIRE_EQUAL(run(arguments), 0);
  for (const auto& [name, tensor] : read_safetensors(run.file("o.safetensors")).tensors)
    BOOST_TEST(!name.starts_with("grad."));
  BOOST_TEST(run(arguments + " --precision best") == 2);
  BOOST_TEST(run.error().find("best") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(gradients_need_labels) {
  const RunFolder run;
  const std::string model = std::string(WEFT_FIXTURES) + "/goldens/roberta-mlm-default";
  TensorMap inputs = read_safetensors(model + "/inputs.safetensors").tensors;
  inputs.erase("labels");
  write_safetensors(run.file("i.safetensors"), inputs);
  const std::string arguments =
      model + " --inputs " + run.file("i.safetensors") + " --outputs " + run.file("o.safetensors");
  BOOST_TEST(run(arguments) == 0);
  BOOST_TEST(run(arguments + " --gradients") == 2);
  BOOST_TEST(run.error().find("--gradients needs a loss") != std::string::npos);
  BOOST_TEST(run("nowhere --inputs a --outputs b") == 1);
}

BOOST_AUTO_TEST_CASE(generate_prints_ids_of_a_folders_model) {
  const RunFolder run;
  const auto generate = [&](const std::string& arguments) {
    const std::string folders =
        arguments.front() == '/' ? "" : std::string(WEFT_FIXTURES) + "/goldens/";
    const std::string command = std::string(WEFT_PROGRAM) + " generate " + folders + arguments +
                                " >" + run.file("ids") + " 2>" + run.file("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const std::string prompt = "t5-v1.1-default --prompt-ids \"38 37 23 62 86 85 58\"";
  BOOST_REQUIRE_EQUAL(generate(prompt + " --ids --max-length 11"), 0);
  BOOST_TEST(read_text_file(run.file("ids")) == "0 9 21 54\n");
  BOOST_REQUIRE_EQUAL(generate(prompt + " --ids --max-length 11 --beams 4 --length-penalty 1"), 0);
  BOOST_TEST(read_text_file(run.file("ids")) == "0 67 42 21 9 100 81 100 100 100 9\n");
  BOOST_TEST(generate(prompt) == 2);
  BOOST_TEST(run.error().find("give --prompt-ids \"1 2 3\" and --ids") != std::string::npos);
  BOOST_TEST(generate("t5-v1.1-default --prompt-ids \"1 x\" --ids") == 2);
  BOOST_TEST(run.error().find("'x' is not an id") != std::string::npos);
  const fs::path copy = run.file("penalised");
  fs::copy(std::string(WEFT_FIXTURES) + "/goldens/t5-v1.1-default", copy);
  std::ofstream(copy / "generation_config.json")
      << R"({"decoder_start_token_id": 0, "repetition_penalty": 1.5})";
  BOOST_TEST(generate(copy.string() + " --prompt-ids 1 --ids") == 1);
  BOOST_TEST(run.error().find("repetition_penalty is 1.5: generation with it is not supported") !=
             std::string::npos);
  std::ofstream(copy / "generation_config.json")
      << R"({"decoder_start_token_id": 0, "bad_words_ids": [[3, 4]]})";
  BOOST_TEST(generate(copy.string() + " --prompt-ids 1 --ids") == 1);
  BOOST_TEST(run.error().find("only words of a single id are supported") != std::string::npos);
  std::ofstream(copy / "generation_config.json") << "{}";
  BOOST_TEST(generate(copy.string() + " --prompt-ids 1 --ids") == 1);
  BOOST_TEST(run.error().find("states no decoder_start_token_id") != std::string::npos);
  BOOST_TEST(generate("bert-qa-default --prompt-ids \"1\" --ids") == 2);
  BOOST_TEST(run.error().find("is neither a decoder nor an encoder-decoder") != std::string::npos);
  // A decoder goes on from the prompt.
  const std::string gpt = "gpt2-default --ids --prompt-ids ";
  BOOST_REQUIRE_EQUAL(generate(gpt + "\"19 94 70 44 46\" --max-length 17"), 0);
  BOOST_TEST(read_text_file(run.file("ids")) == "19 94 70 44 46 59 59 59 59 59 59 55 67\n");
  BOOST_REQUIRE_EQUAL(generate(gpt + "\"19 94 70 44 46\" --max-length 17 --beams 4"), 0);
  BOOST_TEST(read_text_file(run.file("ids")) == "19 94 70 44 46 59 59 59 59 59 59 55 67\n");
  BOOST_TEST(generate(gpt + "\"1 2\" --max-length 99") == 1);
  BOOST_TEST(run.error().find("beyond the 24 positions") != std::string::npos);
  BOOST_TEST(generate(gpt + "\"1 2 3\" --max-length 3") == 1);
  BOOST_TEST(run.error().find("nothing is left to generate") != std::string::npos);
}

}  // namespace
}  // namespace weft
