"""Redis as the queue.

redis-server --port 6379
pip install 'sexton[redis]'
python examples/queues/with_redis.py
"""

from heartbeat import main

if __name__ == "__main__":
    main("redis://127.0.0.1:6379/0")
