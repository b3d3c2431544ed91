// Utilities for round trips of Hugging Face folders and for comparing folders.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/hf/generation_config.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/testing/temporary_folder.h"

namespace weft::testing {

/// Returns all outputs that the Hugging Face class of a folder computes for one row of ids or for
/// one image.
inline TensorMap outputs_of(const hf::Folder& folder) {
  hf::InputTypes types = hf::minimal_inputs(folder.config);
  NamedTensors inputs;
  for (auto& [name, type] : types) {
    if (type.first == DType::f32) {
      Tensor pixels = Tensor::empty(DType::f32, type.second);
      for (std::int64_t i = 0; i < pixels.numel(); ++i)
        pixels.mutable_data<float>()[i] = static_cast<float>(i * 37 % 64) / 64;
      inputs.emplace_back(name, pixels);
    } else {
      type.second = {1, 6};
      inputs.emplace_back(name, Tensor::of<std::int32_t>({1, 6}, {5, 9, 2, 7, 11, 2}));
    }
  }
  Graph graph;
  const hf::Model model = hf::build_model(graph, folder.config, types);
  Program program("outputs");
  for (const auto& [name, value] : model.outputs) program.output(name, value);
  Session session(graph, hf::load_weights(model, graph, folder), {.threads = 1});
  const Results results = session.run(program, inputs);
  TensorMap outputs;
  for (const auto& [name, value] : model.outputs) outputs[name] = results[name];
  return outputs;
}

inline void check_same_tensors(const TensorMap& found, const TensorMap& expected) {
  BOOST_TEST(found.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST_REQUIRE(found.contains(name));
      BOOST_TEST(bitwise_equal(found.at(name), tensor));
    }
  }
}

/// Checks that both tokenizers have the same special tokens and encode the texts to the same ids.
inline void check_same_tokenizer(const std::string& found, const std::string& expected,
                                 const std::vector<std::string>& texts) {
  const FolderTokenizer a = read_tokenizer_folder(expected), b = read_tokenizer_folder(found);
  BOOST_TEST_REQUIRE(a.tokenizer.has_value());
  BOOST_TEST_REQUIRE(b.tokenizer.has_value(), b.missing);
  BOOST_TEST((a.tokenizer->special() == b.tokenizer->special()));
  for (const std::string& text : texts) {
    BOOST_TEST(a.tokenizer->encode_text(text).ids == b.tokenizer->encode_text(text).ids,
               boost::test_tools::per_element());
  }
}

/// Checks that the folder `found`, which was exported from the model in `expected`, has the same
/// config.json, tensors, outputs and tokenizer.
inline void check_same_folder(const std::string& found, const std::string& expected,
                              const std::vector<std::string>& texts) {
  const hf::Folder before = hf::read_folder(expected), after = hf::read_folder(found);
  BOOST_TEST(after.config == before.config);
  check_same_tensors(after.weights, before.weights);
  check_same_tensors(outputs_of(after), outputs_of(before));
  if (!texts.empty()) check_same_tokenizer(found, expected, texts);
  BOOST_TEST(read_chat_format(found).format.has_value() ==
             read_chat_format(expected).format.has_value());
}

/// Reads a folder and writes it again, both directly and through a .weft file, and compares the
/// results with the original.
inline void check_round_trip(const std::string& path, const std::vector<std::string>& texts) {
  const TemporaryFolder files("round_trip");
  const auto loaded = load_any_model(path);
  save_folder(files.path("again"), *loaded.model);
  check_same_folder(files.path("again"), path, texts);
  if (texts.empty()) return;  // .weft files need a tokenizer
  save_model(files.path("model.weft"), *loaded.model);
  save_folder(files.path("from_file"), *load_any_model(files.path("model.weft")).model);
  check_same_folder(files.path("from_file"), path, texts);
}

}  // namespace weft::testing
