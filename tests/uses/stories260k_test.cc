// stories260K, a small trained LLaMA (../shared/data/stories260k), tells its story in every form in
// which Weft reads models.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "weft/serialization/safetensors.h"
#include "weft/serialization/tensor_file.h"
#include "weft/tests/support/program_shell.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(stories260k)
namespace {

namespace fs = std::filesystem;

/// The greedy continuation of the start of a text, as llama.cpp computes it.
const std::string kStory =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. "
    "One day, she saw a big, red ball.";

/// Returns the folder of the model. Without it, prints that the test is skipped.
std::optional<std::string> model_folder() {
  const std::string folder = WEFT_SOURCE_DIR "/../shared/data/stories260k";
  if (fs::exists(folder + "/config.json")) return folder;
  std::cout << "skipped: no folder " << folder << "\n";
  return std::nullopt;
}

class Stories : public Shell {
 public:
  std::string succeeds(const std::string& arguments) const {
    const Outcome outcome = (*this)(arguments);
    BOOST_TEST_REQUIRE(outcome.code == 0, arguments << ": " << outcome.err);
    return outcome.out;
  }
  void check_story(const std::string& model, const std::string& options = "",
                   const std::string& story = kStory) const {
    BOOST_TEST_CONTEXT(model) {
      BOOST_TEST(succeeds("generate " + model + options + " --prompt-ids 1 --greedy --tokens 60")
                     .starts_with(story));
    }
  }
  /// Returns the arguments of a short training run on the story.
  std::string training(const std::string& from) const {
    std::string text;
    for (int i = 0; i < 100; ++i) text += kStory + "\n";
    return "train gpt --from " + from + " --text " + write("story.txt", text) +
           " --steps 3 --warmup 1 --batch 2 --threads 2 --lr 1e-4 --out ";
  }
};

/// Copies a model folder with weights in another dtype.
void copy_folder(const std::string& from, const std::string& to, DType dtype) {
  fs::copy(from, to);
  TensorMap tensors = read_tensors(from);
  for (auto& [name, tensor] : tensors) tensor = tensor.to(dtype);
  fs::remove(to + "/model.safetensors");
  write_safetensors(to + "/model.safetensors", tensors);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_story_is_the_same_in_folders_and_files) {
  const std::optional<std::string> folder = model_folder();
  if (!folder) return;
  const Stories weft;
  weft.check_story(*folder);
  weft.succeeds("convert " + *folder + " --out " + weft.path("model.weft"));
  weft.check_story(weft.path("model.weft"));
  weft.check_story(weft.path("model.weft"), " --verify");
  weft.succeeds("convert " + weft.path("model.weft") + " --out " + weft.path("again/"));
  weft.check_story(weft.path("again/"));
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const std::string half = weft.path(std::string(dtype_name(dtype)));
    copy_folder(*folder, half, dtype);
    weft.check_story(half);
    weft.succeeds("convert " + half + " --out " + half + ".weft");
    weft.check_story(half + ".weft");
  }
  for (const std::string format : {"bf16", "int8"}) {
    const std::string file = weft.path("quantised-" + format + ".weft");
    weft.succeeds("quantize " + *folder + " --weights " + format + " --out " + file);
    weft.check_story(file);
  }
  for (const std::string type : {"f16", "q8_0", "q4_0"}) {
    const std::string file = weft.path(type + ".gguf");
    weft.succeeds("convert " + *folder + " --outtype " + type + " --out " + file);
    weft.succeeds("convert " + file + " --out " + file + ".weft");
    for (const std::string& model : {file, file + ".weft"}) {
      // With four bits, so small a model tells another story after these words.
      weft.check_story(model, "", type == "q4_0" ? kStory.substr(0, kStory.find(" park")) : kStory);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_story_is_the_same_after_fine_tuning_on_it) {
  const std::optional<std::string> folder = model_folder();
  if (!folder) return;
  const Stories weft;
  weft.succeeds("convert " + *folder + " --out " + weft.path("model.weft"));
  const std::string half = weft.path("half");
  copy_folder(*folder, half, DType::bf16);
  for (const std::string& from : {*folder, weft.path("model.weft"), half}) {
    BOOST_TEST_CONTEXT(from) {
      weft.succeeds(weft.training(from) + weft.path("tuned.weft") + " --force");
      weft.check_story(weft.path("tuned.weft"));
      weft.succeeds("convert " + weft.path("tuned.weft") + " --out " + weft.path("tuned/"));
      weft.check_story(weft.path("tuned/"));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_story_is_the_same_with_an_adapter_trained_on_it) {
  const std::optional<std::string> folder = model_folder();
  if (!folder) return;
  const Stories weft;
  const std::string half = weft.path("half");
  copy_folder(*folder, half, DType::bf16);
  for (const std::string& from : {*folder, half}) {
    BOOST_TEST_CONTEXT(from) {
      weft.succeeds(weft.training(from) + weft.path("lora.weft") + " --lora-rank 4 --force");
      weft.check_story(weft.path("lora.weft"));
      weft.succeeds("convert " + weft.path("lora.weft") + " --base " + from + " --out " +
                    weft.path("adapter/"));
      weft.check_story(weft.path("adapter/"));  // an adapter folder of the PEFT library
      weft.succeeds("convert " + from + " --adapters " + weft.path("lora.lora.safetensors") +
                    " --out " + weft.path("adapted.weft"));
      weft.check_story(weft.path("adapted.weft"));
      weft.succeeds("merge " + from + " --adapters " + weft.path("adapter/") + " --force --out " +
                    weft.path("merged.weft"));
      weft.check_story(weft.path("merged.weft"));
      fs::remove_all(weft.path("adapter/"));
      fs::remove(weft.path("adapted.weft"));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
