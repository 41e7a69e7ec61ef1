"""RabbitMQ as the queue.

rabbitmq-server
pip install 'sexton[rabbitmq]'
python examples/queues/with_rabbitmq.py
"""

from heartbeat import main

if __name__ == "__main__":
    main("amqp://guest:guest@127.0.0.1:5672/")
