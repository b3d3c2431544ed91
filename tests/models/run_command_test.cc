// weft run: a folder's model on tensors from a file.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
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

}  // namespace
}  // namespace weft
