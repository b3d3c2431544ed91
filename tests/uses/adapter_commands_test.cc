// Commands with adapter folders of the PEFT library: use, merging, further training, and writing.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/safetensors.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(adapter_commands)
namespace {

using nlohmann::json;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

/// A LLaMA folder, and the files that commands make from it.
struct AdapterShell {
  Shell weft;
  TemporaryFolder base{"base"};
  std::string data = " --text " + weft.path("text.txt") + " --warmup 1 --batch 2 --threads 1 ";

  AdapterShell() { testing::write_llama(base); }
  std::string path(const std::string& name) const { return weft.path(name); }
  std::string run(const std::string& arguments) const {
    const Outcome made = weft(arguments);
    BOOST_TEST_REQUIRE(made.code == 0, arguments << ": " << made.err);
    return made.out;
  }
  /// Trains adapters and writes them as the folder a/.
  void train() const {
    run("train gpt --from " + base.path() + " --lora-rank 2 --lora-alpha 3 --steps 2" + data +
        "--out " + path("t.weft"));
    run("convert " + path("t.weft") + " --out " + path("a/"));
  }
  json config(const std::string& folder) const {
    return json::parse(read_whole_file(path(folder + "/adapter_config.json")));
  }
};

BOOST_AUTO_TEST_CASE(trained_adapters_are_written_used_merged_and_trained_further) {
  const AdapterShell files;
  const std::string base = files.base.path();
  files.train();
  const json config = files.config("a");
  BOOST_TEST(config["peft_type"] == "LORA");
  BOOST_TEST(config["r"] == 2);
  BOOST_TEST(config["lora_alpha"] == 3);
  BOOST_TEST(config["task_type"] == "CAUSAL_LM");
  BOOST_TEST(config["base_model_name_or_path"] == base);
  // The folder's generation settings add a start token to texts, and training does not.
  const std::string generate = " --prompt-ids '5 6' --tokens 12 --greedy --threads 1";
  const std::string expected = files.run("generate " + files.path("t.weft") + generate);
  BOOST_TEST(files.run("generate " + files.path("a") + generate) == expected);
  files.run("convert " + base + " --adapters " + files.path("a") + " --out " +
            files.path("again.weft"));
  BOOST_TEST(files.run("generate " + files.path("again.weft") + generate) == expected);
  for (const char* out : {"merged.weft", "merged/"}) {
    const std::string said =
        files.run("merge " + base + " --adapters " + files.path("a") + " --out " + files.path(out));
    BOOST_TEST(contains(said, "matrices, scale 1.5"));
    BOOST_TEST(files.run("generate " + files.path(out) + generate) == expected);
  }
  BOOST_TEST(contains(files.run("verify " + files.path("a")), "a config of adapters"));
  // Both forms train the same adapters further, with the rank and scale of the folder.
  for (const std::string& from : {files.path("a"), base + " --adapters " + files.path("a")}) {
    const std::string said = files.run("train gpt --from " + from + " --steps 2" + files.data +
                                       "--out " + files.path("more.weft"));
    BOOST_TEST(contains(said, "adapters  rank 2, alpha 3"));
    files.run("convert " + files.path("more.weft") + " --out " + files.path("b/") +
              " --base org/model");
    BOOST_TEST(files.config("b")["base_model_name_or_path"] == "org/model");
    const TensorMap before = read_safetensors(files.path("a/adapter_model.safetensors")).tensors;
    const TensorMap after = read_safetensors(files.path("b/adapter_model.safetensors")).tensors;
    BOOST_TEST_REQUIRE(before.size() == after.size());
    double least = 1, most = 0;
    for (const auto& [name, tensor] : before) {
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        const double step = std::abs(after.at(name).at(i) - tensor.at(i));
        least = std::min(least, step);
        most = std::max(most, step);
      }
    }
    BOOST_TEST(most > 0);
    BOOST_TEST(most < 0.05);  // two steps away from the adapters in the folder
  }
}

BOOST_AUTO_TEST_CASE(adapter_folders_are_used_on_quantised_bases) {
  const AdapterShell files;
  files.train();
  files.run("convert " + files.base.path() + " --out " + files.path("base.weft"));
  const std::string generate = " --prompt the --tokens 8 --greedy --threads 1";
  for (const char* format : {"bf16", "int8", "int4"}) {
    BOOST_TEST_CONTEXT(format) {
      files.run("quantize " + files.path("base.weft") + " --weights " + format + " --out " +
                files.path("q.weft"));
      const std::string with = files.path("q.weft") + " --adapters " + files.path("a");
      files.run("convert " + with + " --out " + files.path("on.weft"));
      files.run("merge " + with + " --out " + files.path("m.weft"));
      BOOST_TEST(is_quantized(*load_any_model(files.path("on.weft")).model->graph));
      BOOST_TEST(!is_quantized(*load_any_model(files.path("m.weft")).model->graph));
      BOOST_TEST(files.run("generate " + files.path("on.weft") + generate) ==
                 files.run("generate " + files.path("m.weft") + generate));
      files.run("train gpt --from " + with + " --steps 2" + files.data + "--out " +
                files.path("trained.weft"));
    }
  }
}

BOOST_AUTO_TEST_CASE(contradicting_options_with_adapters_are_rejected) {
  const AdapterShell files;
  files.train();
  const std::string base = files.base.path(), a = files.path("a");
  const std::string train = "train gpt --steps 2" + files.data + "--out " + files.path("x.weft");
  check_error(files.weft(train + " --adapters " + a), 2, "--adapters needs --from");
  check_error(files.weft(train + " --from " + base + " --lora-rank 2 --adapters " + a), 2,
              "cannot be given with existing adapters");
  check_error(files.weft(train + " --from " + a + " --adapters " + a), 2,
              "contains adapters already");
  check_error(files.weft("convert " + base + " --base x --out " + files.path("c/")), 2,
              "--base is for models with adapters");
  check_error(files.weft("merge " + files.path("t.weft") + " --adapters " + a + " --out " +
                         files.path("m.weft")),
              1, "has unmerged adapters");
  // The base model that the folder names is an input, too.
  check_error(files.weft("convert " + a + " --force --out " + base + "/"), 2,
              "would replace the folder that contains " + base + "/");
  BOOST_TEST(fs::exists(files.base.path("config.json")));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
