// Code on docs/speech.md.
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/tasks.h"
#include "weft/tests/uses/speech_folder.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(speech_page)

BOOST_AUTO_TEST_CASE(recordings_are_transcribed_in_cpp) {
  const testing::TemporaryFolder files("whisper");
  const std::string folder = testing::write_whisper(files);
  const std::string recording =
      files.write("a.wav", testing::audio_file(testing::made_up_speech(0.8), 16000));
  const LoadedModel opened = load_model_for(Use::transcribe, folder);
  Session session(*opened.model->graph, opened.model->store);
  const Transcript found = transcribe(session, *opened.model, read_audio(recording),
                                      {.language = "en", .timestamps = true});
  for (const SpeechSegment& segment : found.segments)
    std::cout << segment.start << " to " << segment.end << ": " << segment.text << "\n";
  const std::string subtitle_file = subtitles(found, SubtitleFormat::srt);
  BOOST_TEST(!found.segments.empty());
  BOOST_TEST(subtitle_file.starts_with("1\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
