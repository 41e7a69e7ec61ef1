"""Kafka as the queue.

a Kafka on port 9092
pip install 'sexton[kafka]'
python examples/queues/with_kafka.py
"""

from heartbeat import main

if __name__ == "__main__":
    main("kafka://127.0.0.1:9092")
