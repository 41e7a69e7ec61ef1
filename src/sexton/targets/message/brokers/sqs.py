"""SQS: a queue by its name or its URL. A FIFO queue gets the idempotency key to know duplicates by.

`sqs://REGION` uses the credentials of the worker's environment, `sqs://KEY:SECRET@REGION` its own;
`http://KEY:SECRET@host:port?region=…` is a compatible service. The worker's credentials go to AWS, or to the
endpoint of its environment (`AWS_ENDPOINT_URL_SQS`), never to a host that a job names.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError, ParamValidationError

from sexton.connections.address import Address
from sexton.connections.guard import Guard
from sexton.targets.base import Refused
from sexton.targets.message.brokers.base import CONNECT_SECONDS, PUBLISH_SECONDS, Message

# SQS takes ten attributes of a message and no more.
MOST_ATTRIBUTES = 10
LARGEST = 1024 * 1024
REFUSALS = {
    "AccessDenied",
    "AccessDeniedException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}


class SqsPublisher:
    def __init__(self, client: Any, stack: AsyncExitStack) -> None:
        self._client = client
        self._stack = stack
        self._queues: dict[str, str] = {}

    async def publish(self, message: Message) -> dict[str, Any]:
        attributes = dict(list(message.headers.items())[:MOST_ATTRIBUTES])
        given: dict[str, Any] = {
            "MessageBody": message.body.decode(),
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
                if value
            },
        }
        if message.topic.endswith(".fifo"):
            given["MessageGroupId"] = message.key or message.headers["Sexton-Job-Id"]
            given["MessageDeduplicationId"] = message.number[-128:]
        try:
            queue = await self._queue(message.topic)
            answer = await self._client.send_message(QueueUrl=queue, **given)
        except ParamValidationError as error:
            raise Refused(f"sqs: {error}") from None
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "")).rpartition(".")[2]
            if code in REFUSALS:
                raise Refused(f"sqs: {error}") from None
            raise
        return {"message_id": answer["MessageId"]}

    async def close(self) -> None:
        await self._stack.aclose()

    async def _queue(self, topic: str) -> str:
        if topic.startswith(("http://", "https://")):
            return topic
        if topic not in self._queues:
            self._queues[topic] = (await self._client.get_queue_url(QueueName=topic))["QueueUrl"]
        return self._queues[topic]


async def connect(address: Address, guard: Guard) -> SqsPublisher:
    host, port = address.hosts[0]
    own = address.scheme == "sqs"
    if not own and address.user is None:
        raise Refused(f"sqs: the worker's credentials are not for {host}: write KEY:SECRET@{host}")
    endpoint = None if own else f"{address.scheme}://{host}:{port}"
    given: dict[str, Any] = {
        "region_name": host if own else address.options.get("region", "us-east-1"),
        "endpoint_url": endpoint,
    }
    if address.user is not None:
        given |= {"aws_access_key_id": address.user, "aws_secret_access_key": address.password or ""}
    config = AioConfig(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=PUBLISH_SECONDS,
        retries={"max_attempts": 0},
        # A proxy would connect to a host of a job without the guard.
        proxies=None if own else {},
        connector_args={"resolver": guard.resolver(), "socket_factory": guard.socket},
    )
    stack = AsyncExitStack()
    client = await stack.enter_async_context(get_session().create_client("sqs", config=config, **given))
    return SqsPublisher(client, stack)
