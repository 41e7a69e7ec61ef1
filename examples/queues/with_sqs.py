"""Amazon SQS as the queue.

export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…     (or whatever else AWS's tools understand)
pip install 'sexton[sqs]'
python examples/queues/with_sqs.py
"""

from heartbeat import main

if __name__ == "__main__":
    main("sqs://eu-central-1")
