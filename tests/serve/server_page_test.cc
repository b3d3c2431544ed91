// Runs the code on docs/serving/server.md.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "weft/models/serve/http/http_server.h"
#include "weft/models/serve/served_model.h"
#include "weft/tests/uses/writer_folders.h"

namespace weft {

BOOST_AUTO_TEST_SUITE(server_page)

BOOST_AUTO_TEST_CASE(engines_and_servers_run_as_on_the_page) {
  const testing::TemporaryFolder folder("served");
  const std::string path = testing::write_gpt2(folder);

  ServedModelOptions options;
  options.text = {.slots = 4, .queue = 16};
  const auto model = std::make_shared<ServedModel>("gpt", path, options);

  TextEngine& engine = *model->text();
  TextRequest request{.prompt = {3, 1, 4}, .options = {.max_new = 8}};
  engine.submit(request, [](const TextDelta& delta) { std::fputs(delta.text.c_str(), stdout); });
  const TextDelta whole = engine.generate(request);

  HttpServer server({model}, {.port = 0});
  std::thread thread([&] { server.run(); });
  std::printf("serving at %s\n", server.address().c_str());
  server.stop(std::chrono::seconds(30));  // for example, after a signal
  thread.join();
  BOOST_TEST(whole.new_tokens == 8);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
