// The contract for reading model folders, as users meet it: settings files with unknown keys,
// --ignore-config-key, irregular class names, text without a prompt, and files of other formats.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tiny_folder.h"
#include "weft/core/error.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/training/adapters.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "writer_folders.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(folder_keys)
namespace {

using testing::message_contains;
using testing::TemporaryFolder;

/// A folder of each kind whose settings files Weft reads.
enum class Kind { classifier, decoder, sentences, images, adapters };

struct SettingsFile {
  const char* name;
  Kind kind;
};
/// The files in which an unknown key is an error. One line per file.
const std::vector<SettingsFile> kFiles = {{"config.json", Kind::classifier},
                                          {"config.json", Kind::decoder},
                                          {"generation_config.json", Kind::decoder},
                                          {"modules.json", Kind::sentences},
                                          {"1_Pooling/config.json", Kind::sentences},
                                          {"2_Dense/config.json", Kind::sentences},
                                          {"sentence_bert_config.json", Kind::sentences},
                                          {"config_sentence_transformers.json", Kind::sentences},
                                          {"preprocessor_config.json", Kind::images},
                                          {"adapters/adapter_config.json", Kind::adapters}};

json classifier_config() {
  json config = tiny_config("bert", "BertForSequenceClassification");
  config["id2label"] = {{"0", "bad"}, {"1", "good"}};
  return config;
}

void write_sentence_model(const TemporaryFolder& folder) {
  const std::filesystem::path files = std::string(WEFT_FIXTURES) + "/sentence_transformers";
  for (const char* part : {"model_bertmodel", "overlays/dense_tanh_normalize"}) {
    std::filesystem::copy(files / part, folder.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 8})");
  folder.write("config_sentence_transformers.json", R"({"prompts": {"query": "the"}})");
}

void write_image_model(const TemporaryFolder& folder) {
  testing::write_model(folder.path(), {{"model_type", "vit"},
                                       {"architectures", {"ViTForImageClassification"}},
                                       {"hidden_size", 8},
                                       {"num_hidden_layers", 1},
                                       {"num_attention_heads", 2},
                                       {"intermediate_size", 8},
                                       {"image_size", 12},
                                       {"patch_size", 4}});
  folder.write("preprocessor_config.json", R"({"size": 12})");
}

/// Writes a model to the folder, and adapters for it to a subfolder, whose path is returned.
std::string write_adapters(const TemporaryFolder& folder) {
  const std::string base = testing::write_gpt2(folder);
  LoadedModel loaded = load_any_model(base);
  add_adapters(*loaded.model, LoraOptions{.rank = 2});
  Session(*loaded.model->graph, loaded.model->store, {.threads = 1}).initialise();
  save_adapter_folder(folder.path("adapters"), *loaded.model, base);
  return folder.path("adapters");
}

std::string write_folder_of(Kind kind, const TemporaryFolder& folder) {
  if (kind == Kind::decoder) return testing::write_gpt2(folder);
  if (kind == Kind::adapters) return write_adapters(folder);
  if (kind != Kind::classifier) {
    kind == Kind::images ? write_image_model(folder) : write_sentence_model(folder);
    return folder.path();
  }
  testing::write_model(folder.path(), classifier_config());
  std::string words;
  for (const std::string& word : tiny_words()) words += word + "\n";
  folder.write("vocab.txt", words);
  return folder.path();
}

void plant(const TemporaryFolder& folder, const std::string& file, const json& keys) {
  json object = json::parse(read_whole_file(folder.path(file)));
  (object.is_array() ? object[0] : object).update(keys);
  folder.write(file, object.dump());
}

BOOST_AUTO_TEST_CASE(an_unknown_key_of_every_settings_file_is_an_error_unless_it_is_ignored) {
  const Shell weft;
  for (const SettingsFile& file : kFiles) {
    BOOST_TEST_CONTEXT(file.name) {
      const TemporaryFolder folder;
      const std::string path = write_folder_of(file.kind, folder);
      plant(folder, file.name, {{"next_years_key", nullptr}, {"another", false}});
      BOOST_TEST(load_any_model(path).model != nullptr);
      plant(folder, file.name, {{"next_years_key", 7}});
      BOOST_CHECK_EXCEPTION(
          load_any_model(path), ArgumentError,
          message_contains({path, file.kind == Kind::adapters ? "adapter_config.json" : file.name,
                            "unknown key next_years_key = 7",
                            "--ignore-config-key next_years_key"}));
      const LoadedModel loaded = load_any_model({path, {"next_years_key"}});
      // The key is absent from the converted file and from a folder made from it.
      const std::string converted = folder.path("converted.weft");
      save_model(converted, *loaded.model);
      const std::string written = folder.path("written");
      const LoadedModel again = load_any_model(converted);
      file.kind == Kind::adapters ? save_adapter_folder(written, *again.model)
                                  : save_folder(written, *again.model);
      BOOST_TEST(load_any_model(written).model != nullptr);
      BOOST_CHECK_EXCEPTION(load_any_model({path, {"next_years_key", "no_such_key"}}),
                            ArgumentError, message_contains({folder.path(), "'no_such_key'"}));
    }
  }
}

BOOST_AUTO_TEST_CASE(every_command_that_reads_folders_can_ignore_keys) {
  const Shell weft;
  const TemporaryFolder texts, decoder;
  const std::string text = write_folder_of(Kind::classifier, texts);
  const std::string writer = write_folder_of(Kind::decoder, decoder);
  for (const TemporaryFolder* folder : {&texts, &decoder})
    plant(*folder, "config.json", {{"flavour", "x"}});
  const std::string key = " --ignore-config-key flavour";
  for (const std::string& command :
       {"classify " + text + " film", "embed " + text + " film --json",
        "convert " + text + " --out " + weft.path("a.weft"),
        "generate " + writer + " --prompt the --tokens 2",
        "score " + writer + " --input " + weft.write("line.txt", "the grand\n"),
        "quantize " + writer + " --out " + weft.path("q.weft"),
        "train gpt --steps 1 --warmup 0 --threads 1 --text " + weft.path("text.txt") + " --out " +
            weft.path("m.weft") + " --from " + writer}) {
    const Outcome failed = weft(command);
    BOOST_TEST_CONTEXT(command) {
      check_error(failed, command.starts_with("train") ? 2 : 1, "unknown key flavour = \"x\"");
      const Outcome done = weft(command + key);
      BOOST_TEST(done.code == 0, done.out << done.err);
    }
  }
  check_error(weft("classify " + weft.path("a.weft") + " film" + key), 1,
              "--ignore-config-key is for model folders");
}

BOOST_AUTO_TEST_CASE(irregular_class_names_are_never_replaced_silently) {
  const Shell weft;
  for (const char* head : {"ForSequenceClassification", "ForTokenClassification"}) {
    json config = tiny_config("bert", std::string("Bert") + head);
    config["num_labels"] = 3;
    const TinyFolder folder(config);
    const std::string command =
        std::string(head) == "ForSequenceClassification" ? "classify " : "tag ";
    const auto run = [&](const json& keys) {
      json changed = config;
      changed.erase("num_labels");
      changed.update(keys);
      folder.write("config.json", changed.dump());
      return weft(command + folder.path() + " 'the film'");
    };
    const Outcome list = run({{"id2label", {"x", "y", "z"}}});
    BOOST_TEST(list.code == 0, list.err);
    BOOST_TEST(!contains(list.out, "LABEL_"));
    const Outcome inverse = run({{"label2id", {{"x", 0}, {"y", 1}, {"z", 2}}}});
    BOOST_TEST(inverse.code == 0, inverse.err);
    BOOST_TEST(!contains(inverse.out, "LABEL_"));
    check_error(run({{"id2label", {{"1", "x"}, {"2", "y"}, {"3", "z"}}}}), 1,
                folder.path() + ": config.json: id2label has no name for the id 0");
    check_error(run({{"id2label", {{"0", "x"}, {"1", "y"}, {"3", "z"}}}}), 1,
                "id2label has no name for the id 2");
    check_error(run({{"num_labels", 2}, {"id2label", {{"0", "x"}, {"1", "y"}, {"2", "z"}}}}), 1,
                "num_labels is 2, but id2label has 3 entries");
    BOOST_TEST(contains(run({{"num_labels", 3}}).out, "LABEL_"));
  }
}

BOOST_AUTO_TEST_CASE(names_in_a_list_are_exported_as_an_object) {
  json config = classifier_config();
  const TinyFolder folder(config);
  config["id2label"] = {"x", "y"};
  folder.write("config.json", config.dump());
  const std::string written = folder.beside("written");
  save_folder(written, *load_any_model(folder.path()).model);
  BOOST_TEST(json::parse(read_whole_file(written + "/config.json"))["id2label"] ==
             json({{"0", "x"}, {"1", "y"}}));
}

BOOST_AUTO_TEST_CASE(text_without_a_prompt_starts_from_the_start_id_of_the_folder) {
  const Shell weft;
  const TemporaryFolder folder;
  const std::string path = testing::write_gpt2(folder), file = weft.path("gpt2.weft");
  const std::string options = " --tokens 5 --greedy";
  const auto same_as = [&](const std::string& ids) {
    BOOST_TEST(weft("convert " + path + " --force --out " + file).code == 0);
    const Outcome expected =
        weft("generate " + path + " --ids --prompt-ids '" + ids + "'" + options);
    BOOST_TEST(expected.code == 0, expected.err);
    for (const std::string& model : {path, file}) {
      const Outcome found = weft("generate " + model + " --ids" + options);
      BOOST_TEST(found.out == expected.out, found.err);
      BOOST_TEST(weft("generate " + model + options).code == 0);
    }
  };
  same_as("0");
  folder.write("generation_config.json", R"({"bos_token_id": 7})");
  same_as("7");
  std::filesystem::remove(folder.path("generation_config.json"));
  plant(folder, "config.json", {{"bos_token_id", 9}});
  same_as("9");
  folder.write("generation_config.json", "{}");
  for (const std::string& model : {path, file}) {
    weft("convert " + path + " --force --out " + file);
    check_error(weft("generate " + model), 2,
                model + " has no bos_token_id that texts without a prompt could start from");
  }
}

BOOST_AUTO_TEST_CASE(model_arguments_in_other_formats_are_named) {
  const Shell weft;
  const TemporaryFolder folder;
  const std::string path = write_folder_of(Kind::classifier, folder);
  const std::string bytes = read_whole_file(path + "/model.safetensors");
  struct Case {
    std::string name, bytes, about;
  };
  for (const Case& c : {Case{"pointer.weft", "version https://git-lfs.github.com/spec/v1\noid x\n",
                             "a Git LFS pointer"},
                        {"page.weft", "<html></html>", "an HTML"},
                        {"pytorch_model.bin", "PK\x03\x04 data", "a ZIP archive"},
                        {"model.gguf", "GGUF data", "GGUF"},
                        {"copy.safetensors", bytes, "a safetensors file: pass the folder"}}) {
    const std::string file = weft.write(c.name, c.bytes);
    for (const std::string& command :
         {"classify " + file + " film", "convert " + file + " --out " + weft.path("o.weft"),
          "generate " + file + " --prompt a", "inspect " + file,
          "quantize " + file + " --out x.weft",
          "evaluate " + file + " --data " + weft.path("text.txt")}) {
      const Outcome failed = weft(command);
      BOOST_TEST_CONTEXT(command) {
        BOOST_TEST(failed.code == 1);
        BOOST_TEST(contains(failed.err, c.about), failed.err);
      }
    }
    if (c.name != "copy.safetensors") check_error(weft("verify " + file), 1, c.about);
  }
  folder.write("vocab.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n");
  check_error(weft("classify " + path + " film"), 1, "a Git LFS pointer");
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
