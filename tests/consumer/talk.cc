// Chats with a decoder, and scores the likelihood of texts.
#include <cstdio>

#include "weft/models/tasks/next_token/chat_session.h"
#include "weft/models/tasks/tasks.h"

int main(int, char** arguments) {
  using namespace weft;
  const LoadedModel opened = load_model_for(Use::chat, arguments[1]);
  Session session(*opened.model->graph, opened.model->store);
  const auto writer = text_generator(session, *opened.model);
  ChatSession chat(*writer, {.system = "good", .when_full = WhenFull::forget, .room = 8});
  for (const char* message : {"the film", "was it good"}) {
    ChatReply reply = chat.say(message);
    for (const std::string_view text : reply) std::fwrite(text.data(), 1, text.size(), stdout);
    const ChatAnswer answer = reply.run();
    std::printf("\n(%d of %d prompt tokens reused)\n", int(answer.reused), int(answer.prompt));
  }
  for (const ScoredText& scored :
       writer->score_texts({{"the film was good"}, {" good", "the film"}}))
    std::printf("%.2f bits per byte\n", scored.bits_per_byte());
}
