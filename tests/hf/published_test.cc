// Published configurations have the published parameter counts. No weights are allocated.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/hf/published.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(published)
namespace {

BOOST_AUTO_TEST_CASE(every_published_config_has_its_published_parameter_count) {
  for (const hf::PublishedModel& model : hf::published_models()) {
    BOOST_TEST_CONTEXT(model.name) {
      Graph graph;
      hf::build_model(graph, model.config, hf::published_inputs(model, 1, 8), model.architecture);
      BOOST_TEST(hf::count_parameters(graph) == model.parameters);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_training_class_of_every_model_has_a_loss) {
  for (const hf::PublishedModel& model : hf::published_models()) {
    BOOST_TEST_CONTEXT(model.name) {
      Graph graph;
      const hf::Model built = hf::build_model(
          graph, model.config, hf::published_inputs(model, 1, 8, true), model.trained);
      BOOST_REQUIRE(built.outputs.contains("loss"));
      BOOST_TEST(built.outputs.at("loss").shape().rank() == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_error_for_an_unknown_model_lists_the_known_models) {
  BOOST_CHECK_EXCEPTION(hf::find_published_model("gpt5"), ArgumentError, [](const Error& e) {
    return std::string(e.what()).starts_with(
        "unknown model 'gpt5' (did you mean 'gpt2'?); available: gpt2, gpt2-medium");
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
