// One end of a topic of DDS, with an enclave of a keystore or without: a stranger.
//
//   peer ENCLAVE|- publish|read TOPIC DOMAIN TEXT
//
// publish: sends TEXT five times a second until standard input ends; prints "refused" and ends where it may not.
// read: prints each text that it hears for the first time, and ends with standard input.
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <iostream>
#include <set>
#include <string>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>

namespace fast = eprosima::fastdds::dds;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

constexpr uint32_t kSize = 64;

// A text of fewer than 60 bytes: both ends of the test are this program.
struct Text : fast::TopicDataType {
  Text() {
    setName("std_msgs::msg::dds_::String_");
    m_typeSize = kSize;
    m_isGetKeyDefined = false;
  }
  bool serialize(void* data, SerializedPayload_t* payload) override {
    std::memset(payload->data, 0, kSize);
    payload->data[1] = 1;
    std::strncpy(reinterpret_cast<char*>(payload->data) + 4, static_cast<char*>(data), kSize - 5);
    payload->length = kSize;
    return true;
  }
  bool deserialize(SerializedPayload_t* payload, void* data) override {
    std::strncpy(static_cast<char*>(data), reinterpret_cast<char*>(payload->data) + 4, kSize - 5);
    return true;
  }
  std::function<uint32_t()> getSerializedSizeProvider(void*) override { return [] { return kSize; }; }
  void* createData() override { return new char[kSize](); }
  void deleteData(void* data) override { delete[] static_cast<char*>(data); }
  bool getKey(void*, InstanceHandle_t*, bool) override { return false; }
};

bool told_to_end() {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 200) != 0;
}

fast::DomainParticipantQos qos_of(const std::string& enclave) {
  fast::DomainParticipantQos qos;
  if (enclave == "-") return qos;
  const std::string file = "file://" + enclave + "/", pki = "dds.sec.auth.builtin.PKI-DH.",
                    rules = "dds.sec.access.builtin.Access-Permissions.";
  auto& properties = qos.properties().properties();
  properties.emplace_back("dds.sec.auth.plugin", "builtin.PKI-DH");
  properties.emplace_back("dds.sec.access.plugin", "builtin.Access-Permissions");
  properties.emplace_back("dds.sec.crypto.plugin", "builtin.AES-GCM-GMAC");
  properties.emplace_back(pki + "identity_ca", file + "identity_ca.cert.pem");
  properties.emplace_back(pki + "identity_certificate", file + "cert.pem");
  properties.emplace_back(pki + "private_key", file + "key.pem");
  properties.emplace_back(rules + "permissions_ca", file + "permissions_ca.cert.pem");
  properties.emplace_back(rules + "governance", file + "governance.p7s");
  properties.emplace_back(rules + "permissions", file + "permissions.p7s");
  return qos;
}

int refused() {
  std::cout << "refused" << std::endl;
  _exit(3);  // Fast DDS 2.9 does not come to an end in order from here
}

int main(int, char** words) {
  const std::string enclave = words[1], mode = words[2], topic = words[3];
  auto* factory = fast::DomainParticipantFactory::get_instance();
  auto* participant = factory->create_participant(std::stoi(words[4]), qos_of(enclave));
  if (participant == nullptr) return refused();
  fast::TypeSupport type(new Text);
  type.register_type(participant);
  auto* named = participant->create_topic(topic, type.get_type_name(), fast::TOPIC_QOS_DEFAULT);
  if (mode == "publish") {
    auto* writer = participant->create_publisher(fast::PUBLISHER_QOS_DEFAULT)
                       ->create_datawriter(named, fast::DATAWRITER_QOS_DEFAULT);
    if (writer == nullptr) return refused();
    std::cout << "publishes" << std::endl;
    char text[kSize] = {};
    std::strncpy(text, words[5], kSize - 5);
    while (!told_to_end()) writer->write(text);
  } else {
    fast::DataReaderQos qos;
    qos.reliability().kind = fast::RELIABLE_RELIABILITY_QOS;
    auto* reader =
        participant->create_subscriber(fast::SUBSCRIBER_QOS_DEFAULT)->create_datareader(named, qos);
    if (reader == nullptr) return refused();
    std::cout << "reads" << std::endl;
    std::set<std::string> known;
    char text[kSize] = {};
    fast::SampleInfo info;
    while (!told_to_end())
      while (reader->take_next_sample(text, &info) == eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK)
        if (info.valid_data && known.insert(text).second) std::cout << text << std::endl;
  }
  std::cout.flush();
  _exit(0);
}
